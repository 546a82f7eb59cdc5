// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {FixedPoint} from "./FixedPoint.sol";
import {IERC20, IERC1155Receiver, IOracleAdapter, IPool, IPoolFactory} from "./Interfaces.sol";
import {PoolKey} from "./Types.sol";

/// @notice Writes options of one pair and type against its own funds, and buys back what it wrote.
contract Vault is IERC1155Receiver {
    using FixedPoint for uint256;

    error Vault__AboveMaxSlippage(uint256 totalPremium, uint256 premiumLimit);
    error Vault__InsufficientFunds();
    error Vault__InsufficientShorts();
    error Vault__OptionExpired(uint256 timestamp, uint256 maturity);
    error Vault__OptionPoolNotListed();
    error Vault__OptionTypeMismatchWithVault();
    error Vault__OutOfDTEBounds();
    error Vault__OutOfDeltaBounds();
    error Vault__StrikeZero();
    error Vault__ZeroSize();

    event Trade(
        address indexed user,
        address indexed pool,
        uint256 contractSize,
        bool isBuy,
        uint256 premium,
        uint256 takerFee,
        uint256 makerRebate,
        uint256 vaultFee
    );
    event UpdateQuotes();

    /// @dev Volatility of 60 % a year times 0.4, the share of it that an option at the money costs.
    uint256 private constant ATM_OF_SPOT = 0.24e18;
    uint256 private constant ASK_OF_PRICE = 1.05e18;
    uint256 private constant BID_OF_PRICE = 0.9e18;
    uint256 private constant MIN_AHEAD = 1 days;
    uint256 private constant MAX_AHEAD = 180 days;
    uint256 private constant LONG = 1;
    uint256 private constant SHORT = 0;

    string public name;
    address public immutable asset;
    address private immutable base;
    address private immutable quote;
    address private immutable oracleAdapter;
    bool private immutable isCall;
    IPoolFactory private immutable factory;
    IPool private immutable diamond;
    uint8 private immutable assetDecimals;

    /// @param pair Tells base, quote, oracle and type; its strike and maturity mean nothing here.
    constructor(string memory name_, PoolKey memory pair, IPoolFactory factory_, IPool diamond_, address router) {
        name = name_;
        base = pair.base;
        quote = pair.quote;
        oracleAdapter = pair.oracleAdapter;
        isCall = pair.isCallPool;
        factory = factory_;
        diamond = diamond_;
        asset = pair.isCallPool ? pair.base : pair.quote;
        assetDecimals = IERC20(asset).decimals();
        IERC20(asset).approve(router, type(uint256).max);
    }

    function totalAssets() public view returns (uint256) {
        return IERC20(asset).balanceOf(address(this));
    }

    /// @notice What `size` options cost in all, or bring when sold to the vault, in the asset's decimals. The pool need
    /// not exist.
    function getQuote(PoolKey calldata poolKey, uint256 size, bool isBuy, address taker)
        external
        view
        returns (uint256 total)
    {
        (total,,,) = priceTrade(poolKey, size, isBuy, taker);
    }

    /// @notice Buys from the vault, which needs the sender's allowance, or sells to it, which needs its approval for the
    /// pool's tokens. A pool that doesn't exist is deployed.
    function trade(PoolKey calldata poolKey, uint256 size, bool isBuy, uint256 premiumLimit, address referrer)
        external
    {
        (uint256 total, uint256 premium, uint256 fee, address pool) =
            priceTrade(poolKey, size, isBuy, msg.sender);
        if (isBuy ? total > premiumLimit : total < premiumLimit) revert Vault__AboveMaxSlippage(total, premiumLimit);
        if (!factory.isPool(pool)) factory.deployPool(poolKey);

        if (isBuy) {
            IERC20(asset).transferFrom(msg.sender, address(this), total);
            IPool(pool).writeFrom(address(this), msg.sender, size, referrer);
        } else {
            IPool(pool).safeTransferFrom(msg.sender, address(this), LONG, size, "");
            IPool(pool).annihilate(size);
            IERC20(asset).transfer(msg.sender, total);
        }
        emit UpdateQuotes();
        emit Trade(msg.sender, pool, size, isBuy, premium, fee, 0, 0);
    }

    function onERC1155Received(address, address, uint256, uint256, bytes calldata) external pure returns (bytes4) {
        return IERC1155Receiver.onERC1155Received.selector;
    }

    function onERC1155BatchReceived(address, address, uint256[] calldata, uint256[] calldata, bytes calldata)
        external
        pure
        returns (bytes4)
    {
        return IERC1155Receiver.onERC1155BatchReceived.selector;
    }

    /// @return total In the asset's decimals, against the taker where it is rounded.
    /// @return premium Without the fee, 18 decimals.
    /// @return fee What minting costs: 18 decimals, whole units of the asset; nothing is minted on a sell.
    function priceTrade(PoolKey calldata k, uint256 size, bool isBuy, address taker)
        private
        view
        returns (uint256 total, uint256 premium, uint256 fee, address pool)
    {
        if (size == 0) revert Vault__ZeroSize();
        if (k.isCallPool != isCall) revert Vault__OptionTypeMismatchWithVault();
        if (k.strike == 0) revert Vault__StrikeZero();
        if (block.timestamp >= k.maturity) revert Vault__OptionExpired(block.timestamp, k.maturity);
        if (k.base != base || k.quote != quote || k.oracleAdapter != oracleAdapter) revert Vault__OptionPoolNotListed();
        bool isDeployed;
        (pool, isDeployed) = factory.getPoolAddress(k); // impossible keys are refused there, by name

        uint256 price = priceOf(k.strike, k.maturity - block.timestamp);
        if (!isBuy) {
            if (!isDeployed || IPool(pool).balanceOf(address(this), SHORT) < size) revert Vault__InsufficientShorts();
            premium = price.mul(size).mul(BID_OF_PRICE);
            return (premium.toTokenDown(assetDecimals), premium, 0, pool);
        }
        premium = price.mul(size).mul(ASK_OF_PRICE);
        fee = diamond._takerFeeLowLevel(taker, size, 0, true, false, k.strike, k.isCallPool);
        fee -= fee % FixedPoint.unit(assetDecimals);
        uint256 collateral = isCall ? size : size.mul(k.strike);
        if (collateral.toTokenUp(assetDecimals) >= totalAssets()) revert Vault__InsufficientFunds();
        return ((premium + fee).toTokenUp(assetDecimals), premium, fee, pool);
    }

    /// @dev One option in the asset: its intrinsic value, and a time value that is the market's rule of thumb at the
    /// money and falls away from it. It need not be fair, only deterministic and of the right size.
    function priceOf(uint256 strike, uint256 ahead) private view returns (uint256) {
        if (ahead < MIN_AHEAD || ahead > MAX_AHEAD) revert Vault__OutOfDTEBounds();
        uint256 spot = IOracleAdapter(oracleAdapter).getPrice(base, quote);
        if (strike < spot / 2 || strike > spot * 2) revert Vault__OutOfDeltaBounds();
        uint256 atm = spot.mul(ATM_OF_SPOT).mul((ahead * 1e18 / 365 days).sqrt());
        uint256 distance = spot > strike ? spot - strike : strike - spot;
        uint256 price = atm.mul(atm).div(atm + distance) + (isCall == (spot > strike) ? distance : 0);
        return isCall ? price.div(spot) : price;
    }
}

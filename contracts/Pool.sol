// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {FixedPoint, ONE} from "./FixedPoint.sol";
import {IDiscounts, IERC20, IERC20Router, IOracleAdapter, IPoolFactory} from "./Interfaces.sol";
import {OptionToken} from "./OptionToken.sol";
import {PoolFees} from "./PoolFees.sol";
import {QuoteHash} from "./QuoteHash.sol";
import {Delta, InvalidQuoteOBError, PoolKey, QuoteOB, Signature} from "./Types.sol";

/// @notice One option series. Every pool is a proxy of one instance of this contract, which as the pools' diamond also
/// answers `_takerFeeLowLevel` for pools that don't exist yet.
contract Pool is OptionToken, PoolFees {
    using FixedPoint for uint256;

    error Pool__AboveQuoteSize(uint256 size, uint256 quoteSize);
    error Pool__ActionNotAuthorized(address user, address sender, uint8 action);
    error Pool__InvalidAssetUpdate(int256 deltaLongs, int256 deltaShorts);
    error Pool__InvalidQuoteOBSignature();
    error Pool__InvalidQuoteOBTaker();
    error Pool__OptionExpired();
    error Pool__OptionNotExpired();
    error Pool__OutOfBoundsPrice(uint256 price);
    error Pool__QuoteOBCancelled();
    error Pool__QuoteOBExpired();
    error Pool__QuoteOBOverfilled(uint256 filledAmount, uint256 size, uint256 quoteOBSize);
    error Pool__ZeroSize();

    event Annihilate(address indexed owner, uint256 contractSize, uint256 fee);
    event CancelQuoteOB(address indexed provider, bytes32 quoteOBHash);
    event ClaimProtocolFees(address indexed feeReceiver, uint256 feesClaimed);
    event Exercise(
        address indexed operator,
        address indexed holder,
        uint256 contractSize,
        uint256 exerciseValue,
        uint256 settlementPrice,
        uint256 fee,
        uint256 operatorCost
    );
    event FillQuoteOB(
        bytes32 indexed quoteOBHash,
        address indexed user,
        address indexed provider,
        uint256 contractSize,
        Delta deltaMaker,
        Delta deltaTaker,
        uint256 premium,
        uint256 protocolFee,
        uint256 totalReferralRebate,
        bool isBuy
    );
    event Settle(
        address indexed operator,
        address indexed holder,
        uint256 contractSize,
        uint256 exerciseValue,
        uint256 settlementPrice,
        uint256 fee,
        uint256 operatorCost
    );
    event SettlementPriceCached(uint256 settlementPrice);
    event WriteFrom(
        address indexed underwriter,
        address indexed longReceiver,
        address indexed taker,
        uint256 contractSize,
        uint256 collateral,
        uint256 protocolFee
    );

    uint256 private constant CANCELLED = type(uint256).max;
    /// @dev Its number among the actions that a user may allow an operator.
    uint8 private constant ACTION_WRITE_FROM = 4;

    address private immutable factory;
    IERC20Router private immutable router;
    address private immutable feeReceiver;

    PoolKey private key;
    uint8 private tokenDecimals;
    /// @dev Fees that were paid in and not yet passed on, 18 decimals.
    uint256 private protocolFees;
    uint256 private settlementPrice;
    mapping(address provider => mapping(bytes32 hash => uint256)) private filled;

    constructor(address factory_, IERC20Router router_, address feeReceiver_, IDiscounts discounts_)
        PoolFees(discounts_)
    {
        factory = factory_;
        router = router_;
        feeReceiver = feeReceiver_;
    }

    function initialize(PoolKey calldata k) external {
        require(msg.sender == factory && key.base == address(0));
        key = k;
        uint8 baseDecimals = IERC20(k.base).decimals();
        uint8 quoteDecimals = IERC20(k.quote).decimals();
        tokenDecimals = k.isCallPool ? baseDecimals : quoteDecimals;
    }

    function getPoolSettings()
        external
        view
        returns (address base, address quote, address oracleAdapter, uint256 strike, uint256 maturity, bool isCallPool)
    {
        return (key.base, key.quote, key.oracleAdapter, key.strike, key.maturity, key.isCallPool);
    }

    // ---- quotes ----

    /// @notice Whether `user` could fill `size` of the quote now, and if not, why. Reverts once the option is expired, on
    /// a malleable signature and on numbers that overflow.
    function isQuoteOBValid(address user, QuoteOB calldata quoteOB, uint256 size, Signature calldata sig)
        external
        view
        returns (bool, InvalidQuoteOBError)
    {
        requireNotExpired();
        InvalidQuoteOBError reason = termsError(user, quoteOB, QuoteHash.digest(quoteOB), size, sig);
        if (reason == InvalidQuoteOBError.None) reason = meansError(quoteOB, size);
        return (reason == InvalidQuoteOBError.None, reason);
    }

    /// @return 1e-18 contracts; 2^256 - 1 for a quote that its provider cancelled.
    function getQuoteOBFilledAmount(address provider, bytes32 quoteOBHash) external view returns (uint256) {
        return filled[provider][quoteOBHash];
    }

    /// @notice Anyone may name any hash: the cancel counts for quotes of the sender alone.
    function cancelQuotesOB(bytes32[] calldata hashes) external {
        for (uint256 i; i < hashes.length; ++i) {
            filled[msg.sender][hashes[i]] = CANCELLED;
            emit CancelQuoteOB(msg.sender, hashes[i]);
        }
    }

    /// @return premiumTaker What the taker paid or got, fee included, in the token's decimals.
    /// @return deltaTaker What the fill changed for the taker.
    function fillQuoteOB(QuoteOB calldata quoteOB, uint256 size, Signature calldata signature, address)
        external
        returns (uint256 premiumTaker, Delta memory deltaTaker)
    {
        requireNotExpired();
        if (size > quoteOB.size) revert Pool__AboveQuoteSize(size, quoteOB.size);
        bytes32 hash = QuoteHash.digest(quoteOB);
        revertWith(termsError(msg.sender, quoteOB, hash, size, signature), quoteOB, hash, size);
        filled[quoteOB.provider][hash] += size;

        uint256 normalized = quoteOB.price.mul(size);
        uint256 fee =
            _takerFeeLowLevel(msg.sender, size, normalized, true, true, key.strike, key.isCallPool);
        uint256 premium = collateralOf(normalized);
        premiumTaker = quoteOB.isBuy ? premium - fee : premium + fee;
        protocolFees += fee;

        deltaTaker = updateAssets(msg.sender, premiumTaker, size, !quoteOB.isBuy);
        Delta memory deltaMaker = updateAssets(quoteOB.provider, premium, size, quoteOB.isBuy);
        emit FillQuoteOB(
            hash, msg.sender, quoteOB.provider, size, deltaMaker, deltaTaker, premium, fee, 0, !quoteOB.isBuy
        );
        premiumTaker = premiumTaker.toTokenDown(tokenDecimals);
    }

    /// @notice Several calls of the sender in one transaction: if one reverts, so do all.
    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        results = new bytes[](data.length);
        for (uint256 i; i < data.length; ++i) {
            (bool succeeded, bytes memory result) = address(this).delegatecall(data[i]);
            if (!succeeded) {
                assembly {
                    revert(add(result, 32), mload(result))
                }
            }
            results[i] = result;
        }
    }

    /// @param premium In the token's decimals unless normalised.
    /// @return In the token's decimals.
    function takerFee(address taker, uint256 size, uint256 premium, bool isPremiumNormalized, bool isOrderbook)
        external
        view
        returns (uint256)
    {
        if (!isPremiumNormalized) premium = premium.fromToken(tokenDecimals);
        uint256 fee =
            _takerFeeLowLevel(taker, size, premium, isPremiumNormalized, isOrderbook, key.strike, key.isCallPool);
        return fee.toTokenDown(tokenDecimals);
    }

    // ---- positions ----

    /// @notice `underwriter` writes `size` options for `longReceiver`; premium is between the two of them.
    function writeFrom(address underwriter, address longReceiver, uint256 size, address) external {
        if (msg.sender != underwriter) revert Pool__ActionNotAuthorized(underwriter, msg.sender, ACTION_WRITE_FROM);
        if (size == 0) revert Pool__ZeroSize();
        requireNotExpired();
        uint256 fee = _takerFeeLowLevel(longReceiver, size, 0, true, false, key.strike, key.isCallPool);
        // What is less than a unit of the token can't be paid, and is not counted as paid.
        fee -= fee % FixedPoint.unit(tokenDecimals);
        uint256 collateral = collateralOf(size);
        protocolFees += fee;
        router.safeTransferFrom(
            address(poolToken()), underwriter, address(this), (collateral + fee).toTokenUp(tokenDecimals)
        );
        mintContracts(underwriter, SHORT, size);
        mintContracts(longReceiver, LONG, size);
        emit WriteFrom(underwriter, longReceiver, msg.sender, size, collateral, fee);
    }

    /// @notice Gives up as many longs as shorts and gets their collateral back, before or after maturity.
    function annihilate(uint256 size) external {
        if (size == 0) revert Pool__ZeroSize();
        burnContracts(msg.sender, SHORT, size);
        burnContracts(msg.sender, LONG, size);
        pay(msg.sender, collateralOf(size));
        emit Annihilate(msg.sender, size, 0);
    }

    /// @return exerciseValue What the sender's longs were worth less the fee, in the token's decimals.
    /// @return fee In the token's decimals.
    function exercise() external returns (uint256 exerciseValue, uint256 fee) {
        requireExpired();
        uint256 size = balanceOf(msg.sender, LONG);
        if (size == 0) return (0, 0);
        uint256 value = valueAtMaturity(size);
        uint256 fee18 = exerciseFee(msg.sender, size, value, key.strike, key.isCallPool);
        protocolFees += fee18;
        burnContracts(msg.sender, LONG, size);
        emit Exercise(msg.sender, msg.sender, size, value - fee18, settlementPrice, fee18, 0);
        claimProtocolFees();
        return (pay(msg.sender, value - fee18), fee18.toTokenDown(tokenDecimals));
    }

    /// @return collateral What the sender's shorts leave of their collateral, in the token's decimals.
    function settle() external returns (uint256 collateral) {
        requireExpired();
        uint256 size = balanceOf(msg.sender, SHORT);
        if (size == 0) return 0;
        uint256 value = valueAtMaturity(size);
        burnContracts(msg.sender, SHORT, size);
        emit Settle(msg.sender, msg.sender, size, value, settlementPrice, 0, 0);
        claimProtocolFees();
        return pay(msg.sender, collateralOf(size) - value);
    }

    function getSettlementPrice() external view returns (uint256) {
        return settlementPrice;
    }

    // ---- inside ----

    /// @dev The checks that need nothing of the provider but its signature.
    function termsError(address user, QuoteOB calldata q, bytes32 hash, uint256 size, Signature calldata sig)
        private
        view
        returns (InvalidQuoteOBError)
    {
        uint256 done = filled[q.provider][hash];
        if (block.timestamp > q.deadline) return InvalidQuoteOBError.QuoteOBExpired;
        if (done == CANCELLED) return InvalidQuoteOBError.QuoteOBCancelled;
        if (done + size > q.size) return InvalidQuoteOBError.QuoteOBOverfilled;
        if (q.price > ONE) return InvalidQuoteOBError.OutOfBoundsPrice;
        if (q.taker != address(0) && q.taker != user) return InvalidQuoteOBError.InvalidQuoteOBTaker;
        if (QuoteHash.signer(hash, sig) != q.provider) return InvalidQuoteOBError.InvalidQuoteOBSignature;
        return InvalidQuoteOBError.None;
    }

    function revertWith(InvalidQuoteOBError reason, QuoteOB calldata q, bytes32 hash, uint256 size) private view {
        if (reason == InvalidQuoteOBError.QuoteOBExpired) revert Pool__QuoteOBExpired();
        if (reason == InvalidQuoteOBError.QuoteOBCancelled) revert Pool__QuoteOBCancelled();
        if (reason == InvalidQuoteOBError.QuoteOBOverfilled) {
            revert Pool__QuoteOBOverfilled(filled[q.provider][hash], size, q.size);
        }
        if (reason == InvalidQuoteOBError.OutOfBoundsPrice) revert Pool__OutOfBoundsPrice(q.price);
        if (reason == InvalidQuoteOBError.InvalidQuoteOBTaker) revert Pool__InvalidQuoteOBTaker();
        if (reason == InvalidQuoteOBError.InvalidQuoteOBSignature) revert Pool__InvalidQuoteOBSignature();
    }

    /// @dev Whether the provider has what the fill would take from it.
    function meansError(QuoteOB calldata q, uint256 size) private view returns (InvalidQuoteOBError) {
        if (size == 0) return InvalidQuoteOBError.InvalidAssetUpdate;
        Delta memory delta = assetsUpdate(q.provider, collateralOf(q.price.mul(size)), size, q.isBuy);
        if (delta.collateral < 0) {
            uint256 needed = uint256(-delta.collateral).toTokenDown(tokenDecimals);
            if (poolToken().allowance(q.provider, address(router)) < needed) {
                return InvalidQuoteOBError.InsufficientCollateralAllowance;
            }
            if (poolToken().balanceOf(q.provider) < needed) return InvalidQuoteOBError.InsufficientCollateralBalance;
        }
        if (delta.longs < 0 && usable(q.provider, LONG) < uint256(-delta.longs)) {
            return InvalidQuoteOBError.InsufficientLongBalance;
        }
        if (delta.shorts < 0 && usable(q.provider, SHORT) < uint256(-delta.shorts)) {
            return InvalidQuoteOBError.InsufficientShortBalance;
        }
        return InvalidQuoteOBError.None;
    }

    /// @dev Buying gives back shorts before it gives longs, selling gives back longs before it gives shorts. Collateral
    /// is freed by shorts that are given back and taken for shorts that are given.
    function assetsUpdate(address user, uint256 premium, uint256 size, bool isBuy)
        private
        view
        returns (Delta memory delta)
    {
        uint256 closing = balanceOf(user, isBuy ? SHORT : LONG).min(size);
        int256 closed = -closing.signed();
        int256 opened = (size - closing).signed();
        if (isBuy) {
            delta = Delta(collateralOf(closing).signed() - premium.signed(), opened, closed);
        } else {
            delta = Delta(premium.signed() - collateralOf(size - closing).signed(), closed, opened);
        }
        delta.collateral = FixedPoint.floorToUnit(delta.collateral, tokenDecimals);
    }

    function updateAssets(address user, uint256 premium, uint256 size, bool isBuy)
        private
        returns (Delta memory delta)
    {
        delta = assetsUpdate(user, premium, size, isBuy);
        if (delta.longs == 0 && delta.shorts == 0) revert Pool__InvalidAssetUpdate(0, 0);
        if (delta.collateral < 0) {
            uint256 amount = uint256(-delta.collateral).toTokenDown(tokenDecimals);
            router.safeTransferFrom(address(poolToken()), user, address(this), amount);
        } else {
            pay(user, uint256(delta.collateral));
        }
        change(user, LONG, delta.longs);
        change(user, SHORT, delta.shorts);
    }

    function change(address user, uint256 id, int256 amount) private {
        if (amount > 0) mintContracts(user, id, uint256(amount));
        if (amount < 0) burnContracts(user, id, uint256(-amount));
    }

    /// @dev Worth of `size` longs at maturity in collateral: base tokens for calls, quote tokens for puts.
    function valueAtMaturity(uint256 size) private returns (uint256) {
        if (settlementPrice == 0) {
            settlementPrice = IOracleAdapter(key.oracleAdapter).getPriceAt(key.base, key.quote, key.maturity);
            emit SettlementPriceCached(settlementPrice);
        }
        uint256 price = settlementPrice;
        if (key.isCallPool) return price > key.strike ? size.mul(price - key.strike).div(price) : 0;
        return price < key.strike ? size.mul(key.strike - price) : 0;
    }

    function claimProtocolFees() private {
        uint256 fees = protocolFees.toTokenDown(tokenDecimals);
        if (fees == 0) return;
        protocolFees -= fees.fromToken(tokenDecimals);
        poolToken().transfer(feeReceiver, fees);
        emit ClaimProtocolFees(feeReceiver, fees);
    }

    /// @param amount 18 decimals; what is less than a unit of the token stays in the pool.
    function pay(address to, uint256 amount) private returns (uint256 paid) {
        paid = amount.toTokenDown(tokenDecimals);
        if (paid > 0) poolToken().transfer(to, paid);
    }

    function collateralOf(uint256 contracts) private view returns (uint256) {
        return contractsToCollateral(contracts, key.strike, key.isCallPool);
    }

    function poolToken() private view returns (IERC20) {
        return IERC20(key.isCallPool ? key.base : key.quote);
    }

    function requireNotExpired() private view {
        if (block.timestamp >= key.maturity) revert Pool__OptionExpired();
    }

    function requireExpired() private view {
        if (block.timestamp < key.maturity) revert Pool__OptionNotExpired();
    }
}

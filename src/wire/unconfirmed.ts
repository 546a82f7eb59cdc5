/** Texts for what is under way when its request is answered. Clients compare them. */
export const PUBLICATION_UNCONFIRMED = 'Publication not confirmed yet';
export const TRANSACTION_UNCONFIRMED = 'Transaction not confirmed yet';

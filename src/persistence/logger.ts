/** Where the persistence tells people what it does; pino's loggers are such. */
export interface Logger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

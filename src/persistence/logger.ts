/** Where the persistence tells people what it does; pino's loggers are such, which write out an error that is named `err`. */
export interface Logger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** The few small files that the key store lives in, by name. Other processes may read and update them too. */
export interface KeyFiles {
  /** The content, or null when there is no such file. */
  read(name: string): Promise<string | null>;
  /** Changes whenever the content does; null when there is no such file. Cheap enough to ask every second. */
  stamp(name: string): Promise<string | null>;
  /**
   * Replaces the content by what `change` makes of it, and resolves to that once it is on disk. All or nothing, also in
   * a power cut, and no update by another process is lost. Only the owner may read the file.
   */
  update(name: string, change: (current: string | null) => string): Promise<string>;
}

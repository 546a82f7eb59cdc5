import type { Disk, DiskFile } from './disk.js';

/** The same directory; `onRead` gets the bytes of each read, so that long work can show how far it is. */
export function meteredDisk(disk: Disk, onRead: (bytes: number) => void): Disk {
  return {
    label: disk.label,
    open: async (name, mode) => meteredFile(await disk.open(name, mode), onRead),
    list: () => disk.list(),
    rename: (from, to) => disk.rename(from, to),
    remove: (name) => disk.remove(name),
    syncDirectory: () => disk.syncDirectory(),
    space: () => disk.space(),
    lock: (name) => disk.lock(name),
  };
}

function meteredFile(file: DiskFile, onRead: (bytes: number) => void): DiskFile {
  return {
    name: file.name,
    write: (bytes, position) => file.write(bytes, position),
    async read(into, position) {
      const count = await file.read(into, position);
      onRead(count);
      return count;
    },
    size: () => file.size(),
    sync: () => file.sync(),
    close: () => file.close(),
  };
}

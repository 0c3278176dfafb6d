package io.stormcut;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;

/** Reads `user:password`; neither ever appears in a message. */
final class AuthFile {
  private static final long LONGEST = 4096;
  private static final Set<PosixFilePermission> OWNER_ONLY =
      EnumSet.of(
          PosixFilePermission.OWNER_READ,
          PosixFilePermission.OWNER_WRITE,
          PosixFilePermission.OWNER_EXECUTE);

  private AuthFile() {}

  static String read(String name) throws BrainTrouble {
    if (name == null) {
      throw new BrainTrouble(ShimConfig.ZOOKEEPER_AUTH_FILE + " is not set, so no brain is asked");
    }
    String where = ShimConfig.ZOOKEEPER_AUTH_FILE + " " + name;
    try {
      Path file = Paths.get(name);
      ownersAlone(file, where);
      if (Files.size(file) > LONGEST) {
        throw new BrainTrouble(where + " is too long for one line user:password");
      }
      return credentials(new String(Files.readAllBytes(file), StandardCharsets.UTF_8), where);
    } catch (IOException | RuntimeException unreadable) {
      throw new BrainTrouble(where + " cannot be read: " + unreadable);
    }
  }

  /** Refuses a file with a secret that others may read. */
  static void ownersAlone(Path file, String where) throws BrainTrouble, IOException {
    if (!OWNER_ONLY.containsAll(Files.getPosixFilePermissions(file))) {
      throw new BrainTrouble(where + " is open to others than its owner: chmod 600 it");
    }
  }

  private static String credentials(String content, String where) throws BrainTrouble {
    String line = content.trim();
    if (line.indexOf(':') < 1 || line.endsWith(":") || line.indexOf('\n') >= 0) {
      throw new BrainTrouble(where + " does not hold one line user:password");
    }
    return line;
  }
}

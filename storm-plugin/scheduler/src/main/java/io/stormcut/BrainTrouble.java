package io.stormcut;

/** The brain or ZooKeeper cannot help now; the message says why, without changing parts. */
final class BrainTrouble extends Exception {
  private static final long serialVersionUID = 1L;

  BrainTrouble(String reason) {
    super(reason);
  }
}

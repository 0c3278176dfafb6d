package io.stormcut.topologies;

/** A server that a bolt needs does not answer: the tuple must come again. */
final class Unavailable extends Exception {
  Unavailable(String what, Throwable cause) {
    super(what + (cause == null ? "" : ": " + cause), cause);
  }
}

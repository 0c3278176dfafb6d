package io.stormcut;

/** Something the brain wrote must not be used; the message says why. */
final class Unusable extends Exception {
  private static final long serialVersionUID = 1L;

  Unusable(String reason) {
    super(reason);
  }
}

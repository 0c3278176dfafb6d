package io.stormcut;

import java.nio.charset.StandardCharsets;
import org.apache.storm.generated.Grouping;

/** Names of Storm's groupings, as the protocol spells them. */
final class Groupings {
  private static final String PARTIAL_KEY_CLASS = "org.apache.storm.grouping.PartialKeyGrouping";
  /** After magic (2 bytes), version (2), TC_OBJECT, TC_CLASSDESC and the name's length (2). */
  private static final int NAME_AT = 8;

  private Groupings() {}

  static String name(Grouping grouping) {
    switch (grouping.getSetField()) {
      case SHUFFLE:
        return "shuffle";
      case LOCAL_OR_SHUFFLE:
        return "local_or_shuffle";
      case FIELDS:
        // Storm's own encoding: grouping on no field is the global grouping.
        return grouping.get_fields().isEmpty() ? "global" : "fields";
      case ALL:
        return "all";
      case NONE:
        return "none";
      case DIRECT:
        return "direct";
      case CUSTOM_OBJECT:
        return custom(grouping.get_custom_object().get_full_class_name());
      default:
        return custom(serializedClass(grouping.get_custom_serialized()));
    }
  }

  private static String custom(String className) {
    return PARTIAL_KEY_CLASS.equals(className) ? "partial_key" : "custom";
  }

  /** Reads the class name only: deserialising a user's object in Nimbus would run its code. */
  private static String serializedClass(byte[] serialized) {
    if (serialized.length < NAME_AT) {
      return "";
    }
    int length = (serialized[NAME_AT - 2] & 0xff) << 8 | serialized[NAME_AT - 1] & 0xff;
    if (serialized.length < NAME_AT + length) {
      return "";
    }
    return new String(serialized, NAME_AT, length, StandardCharsets.UTF_8);
  }
}

package io.stormcut.topologies;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The {@code rig.*} options in a topology's configuration, written there when it was submitted. */
final class Options {
  private final Map<?, ?> conf;

  Options(Map<?, ?> conf) {
    this.conf = conf;
  }

  double number(String name) {
    return ((Number) conf.get("rig." + name)).doubleValue();
  }

  int whole(String name) {
    return ((Number) conf.get("rig." + name)).intValue();
  }

  String text(String name) {
    return String.valueOf(conf.get("rig." + name));
  }

  /** The rates of {@code rig.rate}: a number, a list of numbers, or a text such as 100,200. */
  double[] rates() {
    Object value = conf.get("rig.rate");
    List<Object> steps = new ArrayList<>();
    if (value instanceof List) {
      steps.addAll((List<?>) value);
    } else {
      steps.addAll(Arrays.asList(String.valueOf(value).split(",")));
    }
    return steps.stream().mapToDouble(step -> Double.parseDouble(step.toString().trim())).toArray();
  }

  /** Seconds of the epoch when Nimbus accepted the topology: the end of its id. */
  long launched() {
    String id = String.valueOf(conf.get("storm.id"));
    return Long.parseLong(id.substring(id.lastIndexOf('-') + 1));
  }

  String padding() {
    char[] letters = new char[whole("payload")];
    Arrays.fill(letters, 'x');
    return new String(letters);
  }
}

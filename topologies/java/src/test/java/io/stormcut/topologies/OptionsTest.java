package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class OptionsTest {
  private static Options one(String name, Object value) {
    return new Options(Collections.singletonMap(name, value));
  }

  private static double[] rates(Object value) {
    return one("rig.rate", value).rates();
  }

  @Test
  void ratesComeInEveryFormThatPythonTakes() {
    assertArrayEquals(new double[] {0}, rates(0L));
    assertArrayEquals(new double[] {2.5}, rates(2.5));
    assertArrayEquals(new double[] {400}, rates("400"));
    assertArrayEquals(new double[] {100, 200.5, 400}, rates("100, 200.5,400"));
    // as Nimbus gives back what Python parsed
    assertArrayEquals(new double[] {100, 200.5}, rates(Arrays.asList(100L, 200.5)));
    assertThrows(NumberFormatException.class, () -> rates("fast"));
  }

  @Test
  void numbersAreReadWhateverTheirType() {
    // JSON makes Long of 3 and Double of 3.0
    for (Number three : Arrays.<Number>asList(3, 3L, 3.0)) {
      assertEquals(3.0, one("rig.cpu.ms", three).number("cpu.ms"));
      assertEquals(3, one("rig.keys", three).whole("keys"));
    }
    assertEquals(0.25, one("rig.local.share", 0.25).number("local.share"));
    assertEquals("/tmp/reports", one("rig.results", "/tmp/reports").text("results"));
  }

  @Test
  void theLaunchIsTheEndOfTheTopologysId() {
    assertEquals(1795252629, one("storm.id", "taxi-rides-3-1795252629").launched());
    assertEquals(5, one("storm.id", "t-1-5").launched());
  }

  @Test
  void paddingHasTheBytesOfThePayload() {
    assertEquals("", one("rig.payload", 0).padding());
    assertEquals("xxxxx", one("rig.payload", 5L).padding());
  }
}

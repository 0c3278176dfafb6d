package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScheduleTest {
  private static final Pace FAST = new Pace(new double[] {0}, 1);
  private static final Pace STAIRS = new Pace(new double[] {10, 20, 5}, 2);

  @Test
  void aStaircaseInvertsItself() {
    assertEquals(10, STAIRS.due(1), 1e-9);
    assertEquals(20, STAIRS.due(2), 1e-9);
    assertEquals(60, STAIRS.due(4), 1e-9);
    assertEquals(70, STAIRS.due(6), 1e-9);
    for (long ordinal = 0; ordinal < 100; ordinal++) {
      assertEquals(ordinal, STAIRS.due(STAIRS.moment(ordinal)), 1e-9);
    }
  }

  @Test
  void sourcesShareTheTuples() {
    assertEquals(Arrays.asList(1L, 4L, 7L), drain(new Schedule(FAST, 1, 3, 10, 0), 0));
    assertEquals(Arrays.asList(0L, 3L, 6L, 9L), drain(new Schedule(FAST, 0, 3, 10, 0), 0));
  }

  @Test
  void atASetPaceTuplesComeWhenTheyAreDue() {
    Schedule schedule = new Schedule(new Pace(new double[] {10}, 1), 0, 1, 0, 0);
    assertEquals(Arrays.asList(0L, 1L, 2L), drain(schedule, 0.25));
    assertEquals(Collections.emptyList(), drain(schedule, 0.25));
    assertEquals(Arrays.asList(3L, 4L, 5L), drain(schedule, 0.55));
  }

  @Test
  void whatIsSkippedIsCounted() {
    Schedule schedule = new Schedule(new Pace(new double[] {10}, 1), 0, 1, 0, 0);
    List<Long> sent = drain(schedule, 100);
    assertEquals(schedule.next(), sent.size() + schedule.skipped());
    assertTrue(schedule.skipped() > 900);
    assertEquals(0, new Schedule(new Pace(new double[] {10}, 1), 0, 1, 0, 100).skipped());
  }

  private static List<Long> drain(Schedule schedule, double elapsed) {
    List<Long> sent = new ArrayList<>();
    for (long due = schedule.poll(elapsed); due >= 0; due = schedule.poll(elapsed)) {
      sent.add(due);
    }
    return sent;
  }
}

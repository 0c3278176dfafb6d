package io.stormcut;

import java.lang.reflect.Field;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.task.TopologyContext;

/** Takes a hook off its task and puts it back while the task runs; knows how long it was off. */
final class HookSwitch {
  private final ITaskHook hook;
  private final List<ITaskHook> hooks;
  private boolean isOn = true;
  private long offSince;
  private long nanosOff;

  /**
   * Of a hook that Storm is about to add to a task.
   *
   * @throws ReflectiveOperationException if this Storm keeps its hooks elsewhere
   */
  HookSwitch(TopologyContext context, ITaskHook hook) throws ReflectiveOperationException {
    this.hook = hook;
    // Storm goes through this list at every event; its own kind must not change meanwhile.
    Field field = TopologyContext.class.getDeclaredField("_hooks");
    field.setAccessible(true);
    hooks = new CopyOnWriteArrayList<>(context.getHooks());
    field.set(context, hooks);
  }

  synchronized void on() {
    if (!isOn) {
      nanosOff += System.nanoTime() - offSince;
      isOn = true;
      hooks.add(hook);
    }
  }

  synchronized void off() {
    if (isOn) {
      hooks.remove(hook);
      isOn = false;
      offSince = System.nanoTime();
    }
  }

  /** How long the hook was off in all, up to a moment that is not long ago. */
  synchronized long nanosOff(long now) {
    return nanosOff + (isOn ? 0 : Math.max(0, now - offSince));
  }
}

package io.stormcut;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.storm.multilang.BoltMsg;
import org.apache.storm.multilang.JsonSerializer;
import org.apache.storm.multilang.NoOutputException;
import org.apache.storm.multilang.ShellMsg;
import org.apache.storm.multilang.SpoutMsg;
import org.apache.storm.task.TopologyContext;

/**
 * Storm's JSON multilang protocol, which also tells the hook the subprocess's id and which threads
 * talk to it: `topology.multilang.serializer: io.stormcut.StormcutSerializer`.
 */
public class StormcutSerializer extends JsonSerializer {
  private static final long serialVersionUID = 1L;

  private transient int task;
  private transient Thread reader;
  private transient Thread writer;

  @Override
  public Number connect(Map conf, TopologyContext context) throws IOException, NoOutputException {
    Number pid = super.connect(conf, context);
    task = context.getThisTaskId();
    if (pid != null) {
      ChildProcess.started(task, pid.longValue());
    }
    return pid;
  }

  @Override
  public ShellMsg readShellMsg() throws IOException, NoOutputException {
    Thread current = Thread.currentThread();
    if (current != reader) {
      reader = current;
      claim(current);
    }
    return super.readShellMsg();
  }

  @Override
  public void writeBoltMsg(BoltMsg message) throws IOException {
    writing();
    super.writeBoltMsg(message);
  }

  @Override
  public void writeSpoutMsg(SpoutMsg message) throws IOException {
    writing();
    super.writeSpoutMsg(message);
  }

  @Override
  public void writeTaskIds(List<Integer> taskIds) throws IOException {
    writing();
    super.writeTaskIds(taskIds);
  }

  private void writing() {
    Thread current = Thread.currentThread();
    if (current != writer) {
      writer = current;
      claim(current);
    }
  }

  private void claim(Thread thread) {
    ExecutorThreads.claimOwn(task, thread);
  }
}

// The discrete-event engine: tuples through threads, nodes' CPU and links; see events.py.
//
// Everything that has a next event (a node, a link, a line of tuples that wait for a tick, a source)
// has one entry in one heap, so that what is pending grows with the cluster, not with its tuples.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "containers.h"
#include "stream.h"
#include "system.h"

namespace simulator {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Of virtual time in ns: what rounding leaves of a job that is done.
constexpr double ROUNDING = 0.01;

// Jobs that end on a node in one event, at most.
constexpr Int AT_ONCE = 64;

// Latencies are counted in buckets of 1/128 of a power of two.
constexpr int FINE_BITS = 7;

// A tree, and which one of those that had its number.
struct Tree {
  Id root;  // NONE: in no tree
  Id serial;
};

constexpr Tree NO_TREE = {NONE, 0};

struct Tuple {
  Id pair;  // NONE: a source makes it
  Tree tree;
  float factor;  // how many times the mean its service takes
};

struct Root {
  Time born;
  Id source;
  Id outstanding;
  Id serial;
  Id incarnation;  // of the source's worker: what it knew ends with it
};

// What runs on a node: a tuple at an executor, or one that a worker sends or takes.
enum Work : Id { EXECUTE = 0, SEND = 1, TAKE = 2, REST = 3 };

struct Job {
  double done;  // in the node's virtual time
  std::uint64_t number;
  Work work;
  Id who;  // executor or worker
  Id tuple;

  bool operator<(const Job& other) const {  // for a heap with the earliest on top
    return done > other.done || (done == other.done && number > other.number);
  }
};

// A node's CPU, shared alike by what runs on it, a core each at most. Within a quota all stop once
// the period's CPU is used.
struct Processor {
  std::vector<Job> jobs;
  double virtual_time = 0.0, speed = 0.0;
  double left = 0.0;  // of the period's CPU, ns
  Time since = 0, period_end = 0;
};

// What happens to a tuple after a delay.
enum Then : Id { RELEASE = 0, RECEIVE = 1, SEND_AGAIN = 2 };

struct Delayed {
  Then then;
  Id executor;     // of a release
  Id incarnation;  // of its worker
  Id tuple;
};

// What waits for one transfer after the other, or for ticks.
struct Waiting {
  Time due;
  Id tuple;
};

struct Station {
  Queue<Id> queue;
  Queue<Tree> open;  // of sources: trees in order of birth, and some that have ended
  Int running = 0;
  Int pending = 0;  // of sources: trees, and a tuple that is being made
  Id incarnation = 0;
  Time since = 0;
  Int held = 0;
};

class Simulation {
 public:
  Simulation(
      const Executors& executors, const Routes& routes, const Cluster& cluster,
      const Counts& counts, std::uint64_t seed, Int most_tuples)
      : executors(executors),
        routes(routes),
        cluster(cluster),
        counts(counts),
        most_tuples(most_tuples),
        nodes(cluster.cores.size),
        racks(cluster.up.size),
        workers(cluster.node.size),
        links(2 * nodes + 2 * racks),
        first_line(nodes + links),
        first_source(first_line + 3 * workers),
        delayed(first_source + 2 * executors.worker.size),
        agenda(static_cast<std::size_t>(delayed + 1)),
        processors(static_cast<std::size_t>(nodes)),
        stations(static_cast<std::size_t>(executors.worker.size)),
        lines(static_cast<std::size_t>(links + 3 * workers)),
        link_ready(static_cast<std::size_t>(links), 0.0),
        due_fraction(static_cast<std::size_t>(executors.worker.size), 0.0),
        owner(static_cast<std::size_t>(routes.target.size)) {
    for (Int i = 0; i < executors.worker.size; i++)
      for (Int group = executors.groups[i]; group < executors.groups[i + 1]; group++)
        for (Int pair = routes.pairs[group]; pair < routes.pairs[group + 1]; pair++)
          owner[static_cast<std::size_t>(pair)] = static_cast<Id>(i);
    for (Int i = 0; i < executors.worker.size; i++)
      for (std::uint64_t purpose = 0; purpose < 3; purpose++)
        streams.emplace_back(seed, static_cast<std::uint64_t>(i), purpose);
    for (Int w = 0; w < workers; w++)
      phase.push_back(Stream(seed, static_cast<std::uint64_t>(w), 3).uniform());
    for (Int n = 0; n < nodes; n++) {
      Stream own(seed, static_cast<std::uint64_t>(n), 4);
      processors[n].period_end = static_cast<Time>(own.uniform() * cluster.quota[n]);
      processors[n].left = budget(n);
    }
    for (Int i = 0; i < executors.worker.size; i++) {
      if (!executors.is_source[i]) continue;
      begin(i);
      if (executors.timeout[i] <= 0.0) continue;
      const double first = arrival_stream(static_cast<Id>(i)).uniform() * executors.timeout[i];
      agenda.set(timer(static_cast<Id>(i)), static_cast<Time>(first));
    }
  }

  // Runs to that time, or for so many events at most; returns how many there were.
  Int run(Time until, Int most_events) {
    Int events = 0;
    while (events < most_events && tuples.alive() <= most_tuples) {
      const Id station = agenda.first();
      const Time when = agenda.time(station);
      if (when > until) {
        now = until;
        break;
      }
      now = when;
      happen(station);
      events++;
    }
    return events;
  }

  Time time() const { return now; }
  Int alive() const { return tuples.alive(); }

  // Brings integrals up to now.
  void settle() {
    for (Int i = 0; i < executors.worker.size; i++) account(static_cast<Id>(i), 0);
  }

  // What a node has, or a source sends, has changed: goes on from now with what the arrays say.
  void node_changed(Int node) { pace(node); }
  void source_changed(Int source) {
    if (executors.is_source[source]) begin(source);
  }

  // A worker ends: what waits in it is lost, and so is what its sources know of their trees.
  void ended(Int worker) {
    const Int node = cluster.node[worker];
    Processor& cpu = processors[node];
    progress(node);
    std::vector<Job> left;
    for (const Job& job : cpu.jobs) {
      const bool own = job.work == EXECUTE || job.work == REST;
      const Int of = own ? executors.worker[job.who] : static_cast<Int>(job.who);
      if (of != worker) left.push_back(job);
      else lose(job.tuple);
    }
    cpu.jobs.swap(left);
    std::make_heap(cpu.jobs.begin(), cpu.jobs.end());
    for (Int i = 0; i < executors.worker.size; i++)
      if (executors.worker[i] == worker) forget(static_cast<Id>(i));
    for (Int which = 0; which < 3; which++) {
      Queue<Waiting>& queue = lines[line(worker, which)];
      while (!queue.empty()) lose(queue.pop().tuple);
      agenda.set(static_cast<Id>(nodes) + line(worker, which), NEVER);
    }
    pace(node);
  }

 private:
  Stream& service_stream(Id executor) { return streams[3 * executor]; }
  Stream& route_stream(Id executor) { return streams[3 * executor + 1]; }
  Stream& arrival_stream(Id executor) { return streams[3 * executor + 2]; }

  void happen(Id station) {
    if (station < nodes) return processor_event(station);
    if (station < first_line + 3 * workers) return line_event(station - static_cast<Id>(nodes));
    if (station == static_cast<Id>(delayed)) return delay_event();
    const Id source = station - static_cast<Id>(first_source);
    const Id count = static_cast<Id>(executors.worker.size);
    source < count ? arrival(source) : rotate(source - count);
  }

  void lose(Id tuple) {
    const Id pair = tuples[tuple].pair;
    if (pair != NONE) counts.lost[executors.topology[routes.target[pair]]]++;
    tuples.remove(tuple);
  }

  void forget(Id executor) {
    Station& own = stations[executor];
    account(executor, -own.held);
    while (!own.queue.empty()) lose(own.queue.pop());
    own.running = own.pending = 0;
    own.incarnation++;
    if (executors.is_source[executor]) agenda.set(static_cast<Id>(first_source) + executor, NEVER);
  }

  // ---- sources ----

  Id timer(Id source) const {
    return static_cast<Id>(first_source + executors.worker.size) + source;
  }

  bool runs(Id executor) const { return cluster.running[executors.worker[executor]]; }

  // As Storm's RotatingMap of two buckets: a tree fails between one timeout and two.
  void rotate(Id source) {
    const Time timeout = static_cast<Time>(executors.timeout[source]);
    agenda.set(timer(source), now + timeout);
    Queue<Tree>& open = stations[source].open;
    while (!open.empty()) {
      const Tree tree = open.front();
      if (is_open(tree)) {
        if (roots[tree.root].born > now - timeout) break;
        fail(tree);
      }
      open.pop();
    }
  }

  bool is_open(Tree tree) { return tree.root != NONE && roots[tree.root].serial == tree.serial; }

  void fail(Tree tree) {
    const Root& root = roots[tree.root];
    const bool knows = root.incarnation == stations[root.source].incarnation;
    if (knows) counts.failed[executors.topology[root.source]]++;
    close(tree, knows);
  }

  void close(Tree tree, bool knows) {
    const Id source = roots[tree.root].source;
    roots[tree.root].serial++;
    roots.remove(tree.root);
    if (!knows || !executors.window[source]) return;
    stations[source].pending--;
    if (runs(source)) refill(source);
  }

  void begin(Int source) {
    const Id id = static_cast<Id>(source);
    const Id next = static_cast<Id>(first_source + source);
    if (!runs(id)) return agenda.set(next, NEVER);
    if (executors.window[source]) return refill(id);
    const double rate = executors.rate[source];
    if (rate <= 0.0) return agenda.set(next, NEVER);
    // Sources at a steady rate are not all in step.
    const double gap = executors.poisson[source] ? arrival_stream(id).exponential()
                                                 : arrival_stream(id).uniform();
    agenda.set(next, now + static_cast<Time>(gap * 1e9 / rate));
  }

  void arrival(Id source) {
    const double rate = executors.rate[source];
    double gap = 1e9 / rate;
    if (executors.poisson[source]) gap *= arrival_stream(source).exponential();
    // What rounding to nanoseconds takes is given back, or a steady rate would be too high.
    gap += due_fraction[source];
    const Time whole = static_cast<Time>(gap);
    due_fraction[source] = gap - static_cast<double>(whole);
    agenda.set(static_cast<Id>(first_source) + source, now + whole);
    enqueue(source, tuples.add({NONE, NO_TREE, 1.0f}));
  }

  // In closed loop a source makes the next tuple as soon as its window has room.
  void refill(Id source) {
    Station& own = stations[source];
    while (own.running < executors.servers[source] && own.pending < executors.window[source]) {
      own.pending++;
      enqueue(source, tuples.add({NONE, NO_TREE, 1.0f}));
    }
  }

  // ---- executors ----

  void account(Id executor, Int change) {
    Station& own = stations[executor];
    counts.held[executor] += static_cast<double>(own.held) * static_cast<double>(now - own.since);
    own.since = now;
    own.held += change;
  }

  void enqueue(Id executor, Id tuple) {
    Station& own = stations[executor];
    const bool waits = own.running >= executors.servers[executor];
    if (waits && static_cast<Int>(own.queue.count()) >= executors.buffer[executor])
      return refuse(executor, tuple);
    account(executor, 1);
    waits ? own.queue.push(tuple) : start(executor, tuple);
  }

  // A full queue takes nothing: its sender tries again, or the tuple is lost.
  void refuse(Id executor, Id tuple) {
    counts.refused[executors.topology[executor]]++;
    if (executors.resend[executor] < 0.0) return drop(tuple);
    delay(executors.resend[executor], {SEND_AGAIN, executor, 0, tuple});
  }

  // Where no time runs out for it, a tree fails with its first tuple that is dropped.
  void drop(Id tuple) {
    const Tree tree = tuples[tuple].tree;
    lose(tuple);
    if (is_open(tree) && executors.timeout[roots[tree.root].source] <= 0.0) fail(tree);
  }

  void start(Id executor, Id tuple) {
    stations[executor].running++;
    if (executors.pause[executor] > 0.0 && executors.exponential[executor])
      tuples[tuple].factor = static_cast<float>(service_stream(executor).exponential());
    work_on(EXECUTE, executor, tuple, executors.service[executor]);
  }

  void work_on(Work part, Id executor, Id tuple, double work) {
    if (executors.pause[executor] > 0.0)
      work *= static_cast<double>(tuples[tuple].factor);
    else if (executors.exponential[executor])
      work *= service_stream(executor).exponential();
    counts.work[executor] += work;
    add_job(cluster.node[executors.worker[executor]], part, executor, tuple, work);
  }

  void served(Id executor, Id tuple) {
    const double pause = executors.pause[executor];
    if (pause <= 0.0) return released(executor, tuple);
    const double factor = static_cast<double>(tuples[tuple].factor);
    delay(pause * factor, {RELEASE, executor, stations[executor].incarnation, tuple});
  }

  void released(Id executor, Id tuple) {
    Station& own = stations[executor];
    own.running--;
    if (!own.queue.empty()) start(executor, own.queue.pop());
    if (executors.rest[executor] <= 0.0) return executed(executor, tuple);
    work_on(REST, executor, tuple, executors.rest[executor]);
    if (executors.window[executor]) refill(executor);
  }

  void executed(Id executor, Id id) {
    account(executor, -1);
    counts.executed[executor]++;
    Tree tree = tuples[id].tree;
    const bool made = tuples[id].pair == NONE;
    tuples.remove(id);
    if (made) tree = new_tree(executor);
    emit(executor, is_open(tree) ? tree : NO_TREE);
    done(tree);
    if (made && executors.window[executor]) refill(executor);
  }

  Tree new_tree(Id source) {
    Station& own = stations[source];
    const Id root = roots.add_keeping([&](Root& each) {
      each.born = now;
      each.source = source;
      each.outstanding = 1;
      each.incarnation = own.incarnation;
    });
    const Tree tree = {root, roots[root].serial};
    if (executors.timeout[source] > 0.0) {
      while (!own.open.empty() && !is_open(own.open.front())) own.open.pop();
      own.open.push(tree);
    }
    return tree;
  }

  // One of a tree's tuples is done.
  void done(Tree tree) {
    if (!is_open(tree)) return;
    Root& root = roots[tree.root];
    if (--root.outstanding) return;
    const bool knows = root.incarnation == stations[root.source].incarnation;
    if (knows) note_latency(executors.topology[root.source], now - root.born);
    close(tree, knows);
  }

  void note_latency(Int topology, Time took) {
    const std::uint64_t value = static_cast<std::uint64_t>(took);
    int shift = 0;
    while ((value >> shift) >= (2u << FINE_BITS)) shift++;
    const Int bucket = (static_cast<Int>(shift) << FINE_BITS) + static_cast<Int>(value >> shift);
    counts.latency(topology, bucket)++;
    counts.latency_sum[topology] += static_cast<double>(took);
  }

  // How many tuples go to each group: so many as their means add up to, give or take one in all,
  // and so for the targets within a group (systematic sampling).
  void emit(Id executor, Tree tree) {
    Stream& random = route_stream(executor);
    const Int from = executors.groups[executor], to = executors.groups[executor + 1];
    if (from == to) return;
    double sum = random.uniform();
    for (Int group = from; group < to; group++) {
      const Int kind = routes.kind[group];
      if (kind != PLAIN && tree.root == NONE) continue;
      const double before = std::floor(sum);
      sum += routes.mean[group];
      const Int count = static_cast<Int>(std::floor(sum) - before);
      if (count == 0) continue;
      if (kind == TO_SOURCE) {
        answer(executor, group, tree);
        continue;
      }
      const Int first = routes.pairs[group], last = routes.pairs[group + 1];
      const double step = routes.weight[last - 1] / static_cast<double>(count);
      double mark = random.uniform() * step;
      const double* weights = routes.weight.data;
      for (Int i = 0; i < count; i++, mark += step) {
        const Int pair = last - first == 1
            ? first
            : std::min<Int>(std::upper_bound(weights + first, weights + last, mark) - weights, last - 1);
        send(static_cast<Id>(pair), tree, random);
      }
    }
  }

  // An acker answers the source that the tree comes of.
  void answer(Id acker, Int group, Tree tree) {
    const Int source = static_cast<Int>(roots[tree.root].source);
    for (Int pair = routes.pairs[group]; pair < routes.pairs[group + 1]; pair++) {
      if (routes.target[pair] != source) continue;
      roots[tree.root].outstanding++;
      return leave(tuples.add({static_cast<Id>(pair), tree, 1.0f}), acker);
    }
  }

  void send(Id pair, Tree tree, Stream& random) {
    const double anchored = routes.anchored[pair];
    const bool in_tree = tree.root != NONE && (anchored >= 1.0 || random.uniform() < anchored);
    if (in_tree) roots[tree.root].outstanding++;
    leave(tuples.add({pair, in_tree ? tree : NO_TREE, 1.0f}), owner[pair]);
  }

  // ---- from executor to executor ----

  // The next flush of a worker's queues.
  Time flush(Int worker) const {
    const double tick = cluster.tick[worker];
    const double start = phase[static_cast<std::size_t>(worker)] * tick;
    const double number = std::floor((static_cast<double>(now) - start) / tick) + 1.0;
    return std::max(now, static_cast<Time>(start + number * tick));
  }

  void leave(Id tuple, Id source) {
    const Int from = executors.worker[source];
    const bool local = from == target_worker(tuple);
    const double tick = cluster.tick[from];
    if (tick <= 0.0) return local ? arrive(tuple) : pass_on(from, tuple);
    // One queue of the executor, and one of its worker or of the target.
    wait(line(from, local ? 0 : 1), flush(from) + static_cast<Time>(tick), tuple);
  }

  Int target_worker(Id tuple) { return executors.worker[routes.target[tuples[tuple].pair]]; }

  void pass_on(Int worker, Id tuple) {
    const double ns = routes.send[tuples[tuple].pair];
    if (ns <= 0.0) return sent(worker, tuple);
    add_job(cluster.node[worker], SEND, static_cast<Id>(worker), tuple, ns);
  }

  void delay(double ns, Delayed what) {
    delays.push(after(ns), what);
    agenda.set(static_cast<Id>(delayed), delays.first());
  }

  void delay_event() {
    const Delayed what = delays.pop();
    agenda.set(static_cast<Id>(delayed), delays.first());
    if (what.then == RECEIVE) return received(what.tuple);
    if (what.then == SEND_AGAIN) return send_again(what.tuple);
    // What its worker had when it ended is lost.
    if (stations[what.executor].incarnation != what.incarnation) return lose(what.tuple);
    released(what.executor, what.tuple);
  }

  void send_again(Id tuple) {
    const Id source = owner[tuples[tuple].pair];
    if (!runs(source)) return lose(tuple);
    const Int from = executors.worker[source];
    from == target_worker(tuple) ? arrive(tuple) : pass_on(from, tuple);
  }

  // A tuple has passed the links to another node.
  void land(Id tuple) {
    const Id pair = tuples[tuple].pair;
    const Id target = static_cast<Id>(routes.target[pair]);
    if (routes.loss[pair] > 0.0 && route_stream(owner[pair]).uniform() < routes.loss[pair])
      return refuse(target, tuple);
    if (routes.delay[pair] <= 0.0) return received(tuple);
    delay(routes.delay[pair], {RECEIVE, target, 0, tuple});
  }

  void sent(Int worker, Id tuple) {
    const Int from = cluster.node[worker], to = cluster.node[target_worker(tuple)];
    from == to ? received(tuple) : onto_link(from, tuple);
  }

  void onto_link(Int link, Id tuple) {
    const double bytes = routes.bytes[tuples[tuple].pair];
    counts.carried[link] += bytes;
    const double rate = link_rate(link);
    if (rate == INFINITE) return off_link(link, tuple);
    // As a bucket of tokens does: what it has gathered passes at once.
    const double ns = 1e9 / rate, burst = link < 2 * nodes ? cluster.bucket[link % nodes] : 0.0;
    const double earliest = static_cast<double>(now) - burst * ns;
    double& ready = link_ready[link];
    ready = std::max(ready, earliest) + bytes * ns;
    const Time due = std::max(now, static_cast<Time>(std::ceil(ready)));
    wait(static_cast<Id>(link), due, tuple);
  }

  double link_rate(Int link) const {
    if (link < nodes) return cluster.out[link];
    if (link < 2 * nodes) return cluster.into[link - nodes];
    if (link < 2 * nodes + racks) return cluster.up[link - 2 * nodes];
    return cluster.down[link - 2 * nodes - racks];
  }

  // Out of a node, out of its rack, into the other rack, into the other node.
  void off_link(Int link, Id tuple) {
    const Int to = cluster.node[target_worker(tuple)];
    const Int rack = cluster.rack[to];
    if (link < nodes && cluster.rack[link] != rack)
      onto_link(2 * nodes + cluster.rack[link], tuple);
    else if (2 * nodes <= link && link < 2 * nodes + racks)
      onto_link(2 * nodes + racks + rack, tuple);
    else if (link < nodes || link >= 2 * nodes)
      onto_link(nodes + to, tuple);
    else
      land(tuple);
  }

  void received(Id tuple) {
    const Int worker = target_worker(tuple);
    if (!cluster.running[worker]) return lose(tuple);
    const double ns = routes.take[tuples[tuple].pair];
    if (ns <= 0.0) return taken(worker, tuple);
    add_job(cluster.node[worker], TAKE, static_cast<Id>(worker), tuple, ns);
  }

  void taken(Int worker, Id tuple) {
    if (cluster.tick[worker] <= 0.0) return arrive(tuple);
    wait(line(worker, 2), flush(worker), tuple);
  }

  void arrive(Id tuple) {
    const Id target = static_cast<Id>(routes.target[tuples[tuple].pair]);
    if (!runs(target)) return lose(tuple);
    if (!executors.is_source[target]) return enqueue(target, tuple);
    // What tells a source of a tree costs it nothing beside what its tuples cost.
    const Tree tree = tuples[tuple].tree;
    tuples.remove(tuple);
    done(tree);
  }

  // ---- lines: in the order in which they are due ----

  Id line(Int worker, Int which) const { return static_cast<Id>(links + 3 * worker + which); }

  void wait(Id line, Time due, Id tuple) {
    Queue<Waiting>& queue = lines[line];
    queue.push({due, tuple});
    if (queue.count() == 1) agenda.set(static_cast<Id>(nodes) + line, due);
  }

  void line_event(Id line) {
    Queue<Waiting>& queue = lines[line];
    const Id tuple = queue.pop().tuple;
    agenda.set(static_cast<Id>(nodes) + line, queue.empty() ? NEVER : queue.front().due);
    if (line < links) return off_link(line, tuple);
    const Int worker = (line - links) / 3;
    (line - links) % 3 == 1 ? pass_on(worker, tuple) : arrive(tuple);
  }

  // ---- nodes ----

  double budget(Int node) const { return cluster.quota[node] * cluster.cores[node]; }

  void add_job(Int node, Work work, Id who, Id tuple, double ns) {
    Processor& cpu = processors[node];
    progress(node);
    counts.cpu[node] += ns;
    cpu.jobs.push_back({cpu.virtual_time + ns, ++jobs_made, work, who, tuple});
    std::push_heap(cpu.jobs.begin(), cpu.jobs.end());
    if (node != settling) pace(node);
  }

  // Lets what runs go on to now.
  void progress(Int node) {
    Processor& cpu = processors[node];
    const double passed = static_cast<double>(now - cpu.since) * cpu.speed;
    cpu.virtual_time += passed;
    cpu.left -= passed * static_cast<double>(cpu.jobs.size());
    cpu.since = now;
  }

  // How fast it goes from now on, and what comes next.
  void pace(Int node) {
    Processor& cpu = processors[node];
    progress(node);
    const double count = static_cast<double>(cpu.jobs.size());
    const Id station = static_cast<Id>(node);
    if (cpu.jobs.empty()) {
      cpu.speed = 0.0;
      return agenda.set(station, NEVER);
    }
    const double quota = cluster.quota[node];
    if (quota <= 0.0) {
      cpu.speed = std::min(1.0, cluster.cores[node] / count);
      return agenda.set(station, after((cpu.jobs.front().done - cpu.virtual_time) / cpu.speed));
    }
    if (now >= cpu.period_end) {
      const double periods = std::floor(static_cast<double>(now - cpu.period_end) / quota) + 1.0;
      cpu.period_end += static_cast<Time>(periods * quota);
      cpu.left = budget(node);
    }
    cpu.speed = cpu.left > ROUNDING ? std::min(1.0, cluster.parallel[node] / count) : 0.0;
    Time next = cpu.period_end;
    if (cpu.speed > 0.0) {
      next = std::min(next, after((cpu.jobs.front().done - cpu.virtual_time) / cpu.speed));
      next = std::min(next, after(cpu.left / (count * cpu.speed)));
    }
    agenda.set(station, next);
  }

  Time after(double ns) const {
    if (!(ns < 9e18 - static_cast<double>(now))) return NEVER;
    return now + static_cast<Time>(std::ceil(std::max(ns, 0.0)));
  }

  void processor_event(Id node) {
    Processor& cpu = processors[node];
    progress(node);
    settling = node;
    // What begins in the same moment and takes no time is done in it, too, but not without end.
    for (Int i = 0; i < AT_ONCE; i++) {
      if (cpu.jobs.empty() || cpu.jobs.front().done > cpu.virtual_time + ROUNDING) break;
      std::pop_heap(cpu.jobs.begin(), cpu.jobs.end());
      const Job job = cpu.jobs.back();
      cpu.jobs.pop_back();
      finished(job);
    }
    settling = -1;
    pace(node);
  }

  void finished(const Job& job) {
    if (job.work == EXECUTE) return served(job.who, job.tuple);
    if (job.work == REST) return executed(job.who, job.tuple);
    job.work == SEND ? sent(job.who, job.tuple) : taken(job.who, job.tuple);
  }

  Executors executors;
  Routes routes;
  Cluster cluster;
  Counts counts;
  Int most_tuples;
  Int nodes, racks, workers, links, first_line, first_source, delayed;
  Agenda agenda;
  std::vector<Processor> processors;
  std::vector<Station> stations;
  std::vector<Queue<Waiting>> lines;
  Delays<Delayed> delays;
  std::vector<double> link_ready;
  std::vector<Stream> streams;
  std::vector<double> due_fraction;
  std::vector<Id> owner;  // who sends the tuples of a pair
  std::vector<double> phase;
  Pool<Tuple> tuples;
  Pool<Root> roots;
  Time now = 0;
  Int settling = -1;
  std::uint64_t jobs_made = 0;
};

}  // namespace
}  // namespace simulator

using simulator::Cluster;
using simulator::Counts;
using simulator::Executors;
using simulator::Routes;
using simulator::Simulation;

extern "C" {

void* simulation_new(
    const Executors* executors, const Routes* routes, const Cluster* cluster, const Counts* counts,
    std::uint64_t seed, Int most_tuples) {
  return new Simulation(*executors, *routes, *cluster, *counts, seed, most_tuples);
}

Int simulation_run(void* simulation, Int until, Int most_events) {
  return static_cast<Simulation*>(simulation)->run(until, most_events);
}

Int simulation_time(void* simulation) { return static_cast<Simulation*>(simulation)->time(); }
Int simulation_alive(void* simulation) { return static_cast<Simulation*>(simulation)->alive(); }
void simulation_settle(void* simulation) { static_cast<Simulation*>(simulation)->settle(); }
void simulation_free(void* simulation) { delete static_cast<Simulation*>(simulation); }

void simulation_node_changed(void* simulation, Int node) {
  static_cast<Simulation*>(simulation)->node_changed(node);
}

void simulation_source_changed(void* simulation, Int source) {
  static_cast<Simulation*>(simulation)->source_changed(source);
}

void simulation_ended(void* simulation, Int worker) {
  static_cast<Simulation*>(simulation)->ended(worker);
}
}

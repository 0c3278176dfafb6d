/*
 * What the scheduler shim in Nimbus and the brain say to each other: framed transport, each frame
 * sealed (docs/protocol.md), binary protocol.
 * The only definition for both sides: Maven generates Java from this file, thriftpy2 reads it.
 * Fields are only ever added, as optional ones; whatever an old reader must not ignore raises
 * PROTOCOL_VERSION. A reader that meets a higher version refuses and says so.
 */
namespace java io.stormcut.protocol
namespace py stormcut_protocol

const i32 PROTOCOL_VERSION = 1
/* Longest message either side accepts, in bytes (64 MiB), without the head of its seal. */
const i32 MAX_MESSAGE_BYTES = 67108864

/* An executor is named by its first task, which is unique in its topology. */
struct Executor {
  1: required i32 start_task
  2: required i32 end_task
  3: required string component
  /* Declared by the topology, in points (100 = one core) and MB; absent where Storm knows none. */
  4: optional double cpu_percent
  5: optional double memory_mb
}

/* One subscription of `target` to a stream of `source`, as declared. */
struct Stream {
  1: required string source
  2: required string target
  3: required string stream
  /* shuffle, local_or_shuffle, fields, partial_key, all, global, none, direct or custom */
  4: required string grouping
}

struct Slot {
  1: required string node
  2: required i32 port
}

/* What one worker runs: executors of one topology, by first task, ascending. */
struct Worker {
  1: required Slot slot
  2: required list<i32> executors
}

struct Topology {
  1: required string id
  2: required string name
  /* topology.workers */
  3: required i32 workers
  4: required list<Executor> executors
  5: required list<Stream> streams
  /* What runs now; dead executors are in no worker, nor is anything during a rebalance. */
  6: required list<Worker> assignment
  /* stormcut.workers of its configuration, where that is set: keep or any. */
  7: optional string workers_policy
  /* The less of topology.worker.max.heap.size.mb and worker.heap.memory.mb of its configuration. */
  8: optional double worker_heap_mb
  /* The texts of stormcut.operator.<component> of its configuration, by component. */
  9: optional map<string, string> operators
}

struct Supervisor {
  1: required string id
  2: required string host
  /* Slots that Nimbus would use: none when the supervisor is blacklisted. Ascending. */
  3: required list<i32> ports
  4: optional double cpu_percent
  5: optional double memory_mb
  /* supervisor.scheduler.meta of its storm.yaml */
  6: required map<string, string> meta
}

struct ClusterState {
  1: required i32 version
  /* Lower-case hexadecimal SHA-256 of nodes, slots, capacities and executors; docs/protocol.md gives the text hashed. */
  2: required string fingerprint
  3: required list<Supervisor> supervisors
  4: required list<Topology> topologies
}

struct TopologyPlan {
  1: required string topology
  2: required list<Worker> workers
  3: required string algorithm
  /* For people: why this placement, on what evidence. */
  4: required string reason
}

/* A topology about which the brain has no opinion: Storm's default scheduler decides. */
struct Declined {
  1: required string topology
  2: required string reason
}

struct Plan {
  1: required i32 version
  2: required string id
  /* Of the state it was computed for; the shim refuses a plan for another state. */
  3: required string fingerprint
  /* Milliseconds since 1970-01-01 UTC. */
  4: required i64 created_ms
  5: required list<TopologyPlan> topologies
  6: required list<Declined> declined
}

struct Health {
  1: required i32 version
  2: required string brain
  3: required bool leader
  4: required i64 started_ms
  5: required i64 plans_served
  6: optional string last_plan
}

/* The state that Nimbus described last. */
struct LastState {
  1: required i32 version
  2: required ClusterState state
  /* Milliseconds since 1970-01-01 UTC. */
  3: required i64 described_ms
}

/* All that the brain would know about one topology, in place of what it knows. */
struct Evidence {
  1: required i32 version
  2: required string topology
  /* stormcut-profile/1; absent: none. */
  3: optional string profile
  /* Where an undo sends it; absent: wherever is best. */
  4: optional list<Worker> undo_to
  /* Why a person overrides guards to have it there; absent: guards hold. */
  5: optional string override_reason
}

exception Refusal {
  1: required i32 version
  2: required string reason
}

service Brain {
  Plan plan(1: ClusterState state) throws (1: Refusal refusal)
  Health health()
  LastState last_state() throws (1: Refusal refusal)
  /* What plan() would answer to the last state with this evidence, as JSON; nothing is published. */
  string preview(1: Evidence evidence) throws (1: Refusal refusal)
  /* What was decided for the last state: what is done, what waits and for what, as JSON. */
  string outlook() throws (1: Refusal refusal)
}

// The arrays of system.py and events.py, row by row: what the engine reads, and what it adds up.
#pragma once

#include "../native/arrays.h"

namespace simulator {

// What a group of pairs is to the tuple trees.
enum Kind : Int { PLAIN = 0, TO_ACKER = 1, TO_SOURCE = 2 };

struct Executors {
  Row<Int> topology;
  Row<Int> worker;
  Row<double> service;    // mean CPU of a tuple, ns
  Row<double> rest;       // and what it takes then, while the next one is served
  Row<double> pause;      // what it waits then without CPU, ns, while no other one is served
  Row<Int> buffer;        // tuples that may wait
  Row<double> resend;     // ns after which what found no room comes again; below 0: never
  Row<bool> exponential;  // else every tuple takes the mean
  Row<Int> servers;
  Row<bool> is_source;
  Row<double> rate;  // of sources, tuples/s
  Row<bool> poisson;
  Row<Int> window;  // of sources in closed loop; 0: open
  Row<double> timeout;  // of sources' trees, ns; 0: none
  Row<Int> groups;  // first group of each, and the end
};

struct Routes {
  Row<double> mean;  // tuples of each group for one that is executed
  Row<Int> kind;
  Row<Int> pairs;  // first pair of each group, and the end
  Row<Int> target;
  Row<double> weight;  // running sum of pairs' rates within their group
  Row<double> send;    // CPU where a tuple leaves its worker, ns
  Row<double> take;    // CPU where it enters another one, ns
  Row<double> bytes;   // on links
  Row<double> anchored;
  Row<double> delay;  // from node to node, ns
  Row<double> loss;   // share that is lost between nodes
};

struct Cluster {
  Row<Int> node;          // of each worker, which is a slot
  Row<bool> running;      // whether a worker is up
  Row<double> cores;      // of each node, what workers leave
  Row<double> quota;      // ns of each node's CPU period; 0: a constant speed
  Row<double> parallel;   // cores that run at once within a quota
  Row<Int> rack;          // of each node
  Row<double> out, into;  // bytes/s of nodes' links
  Row<double> up, down;   // bytes/s of racks' uplinks
  Row<double> bucket;     // bytes that links of each node let pass at once
  Row<double> tick;       // ns from flush to flush; 0: nothing waits
};

struct Counts {
  Row<Int> executed;   // by executor; of sources, what they emitted
  Row<double> work;    // CPU by executor, ns
  Row<double> held;    // integral of tuples at each executor, ns
  Row<double> cpu;     // CPU by node, ns
  Row<double> carried;  // bytes: links out, links in, uplinks out, uplinks in
  Matrix<Int> latency;  // by topology and bucket
  Row<double> latency_sum;
  Row<Int> lost;    // by topology: tuples that went nowhere
  Row<Int> failed;  // by topology: trees that ran out of time
  Row<Int> refused;  // by topology: tuples that found no room, or were lost on the way
};

}  // namespace simulator

// What the engine keeps its events and tuples in: a queue, an agenda of stations, a pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "../native/arrays.h"

namespace simulator {

using Time = std::int64_t;  // nanoseconds
using Id = std::uint32_t;

constexpr Time NEVER = std::numeric_limits<Time>::max();
constexpr Id NONE = std::numeric_limits<Id>::max();

// First in, first out, in a ring that grows by powers of two.
template <class T>
class Queue {
 public:
  bool empty() const { return size == 0; }
  std::size_t count() const { return size; }
  const T& front() const { return ring[first]; }

  void push(T value) {
    if (size == ring.size()) grow();
    ring[(first + size++) & (ring.size() - 1)] = value;
  }

  T pop() {
    const T value = ring[first];
    first = (first + 1) & (ring.size() - 1);
    size--;
    return value;
  }

 private:
  void grow() {
    std::vector<T> larger(std::max<std::size_t>(8, 2 * ring.size()));
    for (std::size_t i = 0; i < size; i++) larger[i] = ring[(first + i) & (ring.size() - 1)];
    ring.swap(larger);
    first = 0;
  }

  std::vector<T> ring;
  std::size_t first = 0, size = 0;
};

// A heap of four children with one entry for each station, by time, then by number.
class Agenda {
 public:
  explicit Agenda(std::size_t stations) : at(stations, NEVER), place(stations), order(stations) {
    for (std::size_t i = 0; i < stations; i++) place[i] = order[i] = static_cast<Id>(i);
  }

  Id first() const { return order[0]; }
  Time time(Id station) const { return at[station]; }

  void set(Id station, Time when) {
    const Time before = at[station];
    if (when == before) return;
    at[station] = when;
    when < before ? rise(place[station]) : sink(place[station]);
  }

 private:
  bool earlier(Id a, Id b) const { return at[a] < at[b] || (at[a] == at[b] && a < b); }

  void put(std::size_t where, Id station) {
    order[where] = station;
    place[station] = static_cast<Id>(where);
  }

  void rise(std::size_t where) {
    const Id station = order[where];
    while (where > 0) {
      const std::size_t parent = (where - 1) / 4;
      if (!earlier(station, order[parent])) break;
      put(where, order[parent]);
      where = parent;
    }
    put(where, station);
  }

  void sink(std::size_t where) {
    const Id station = order[where];
    for (;;) {
      const std::size_t from = 4 * where + 1, to = std::min(from + 4, order.size());
      if (from >= order.size()) break;
      std::size_t least = from;
      for (std::size_t child = from + 1; child < to; child++)
        if (earlier(order[child], order[least])) least = child;
      if (!earlier(order[least], station)) break;
      put(where, order[least]);
      where = least;
    }
    put(where, station);
  }

  std::vector<Time> at;
  std::vector<Id> place, order;
};

// What happens after a delay of its own: earliest first, then as they were put in.
template <class T>
class Delays {
 public:
  bool empty() const { return heap.empty(); }
  Time first() const { return heap.empty() ? NEVER : heap.front().due; }

  void push(Time due, T value) {
    heap.push_back({due, ++pushed, value});
    std::push_heap(heap.begin(), heap.end());
  }

  T pop() {
    std::pop_heap(heap.begin(), heap.end());
    const T value = heap.back().value;
    heap.pop_back();
    return value;
  }

 private:
  struct Entry {
    Time due;
    std::uint64_t number;
    T value;

    bool operator<(const Entry& other) const {  // for a heap with the earliest on top
      return due > other.due || (due == other.due && number > other.number);
    }
  };

  std::vector<Entry> heap;
  std::uint64_t pushed = 0;
};

template <class T>
class Pool {
 public:
  Id add(T value) {
    if (free.empty()) {
      values.push_back(value);
      return static_cast<Id>(values.size() - 1);
    }
    const Id id = free.back();
    free.pop_back();
    values[id] = value;
    return id;
  }
  // Changes one in place: what it keeps tells it from those that had its number before.
  template <class Change>
  Id add_keeping(Change change) {
    if (free.empty()) {
      values.push_back(T{});
      free.push_back(static_cast<Id>(values.size() - 1));
    }
    const Id id = free.back();
    free.pop_back();
    change(values[id]);
    return id;
  }
  void remove(Id id) { free.push_back(id); }
  T& operator[](Id id) { return values[id]; }
  Int alive() const { return static_cast<Int>(values.size() - free.size()); }

 private:
  std::vector<T> values;
  std::vector<Id> free;
};

}  // namespace simulator

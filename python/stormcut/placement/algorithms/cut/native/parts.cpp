// The executors of one node in parts of equal size but for one, a worker each; see ../realise.py.
#include "../../../../native/arrays.h"

// `part` is FREE for the executors that are to be parted, `members`, ascending, and for no other.
constexpr Int FREE = -1;

// Each part grows along its heaviest edges. `start` and `pull` are room to work in.
extern "C" void grow_parts(
    Row<Int> first, Row<Int> target, Row<double> rate, Row<Int> members, Row<Int> sizes,
    Row<double> start, Row<double> pull, Row<Int> part) {
  double most = 0.0;
  const auto degree = [&](Int member) {
    double sum = 0.0;
    for (Int k = first[member]; k < first[member + 1]; k++)
      if (part[target[k]] == FREE) sum += rate[k];
    return sum;
  };
  // What an executor pulls before its part has others decides only where no traffic does.
  for (const Int member : members) {
    start[member] = degree(member);
    if (start[member] > most) most = start[member];
  }
  for (Int number = 0; number < sizes.size; number++) {
    for (const Int member : members) pull[member] = start[member] / (most + 1.0);
    for (Int count = 0; count < sizes[number]; count++) {
      Int best = FREE;
      for (const Int member : members)
        if (part[member] == FREE && (best == FREE || pull[member] > pull[best])) best = member;
      part[best] = number;
      for (Int k = first[best]; k < first[best + 1]; k++)
        if (part[target[k]] == FREE) pull[target[k]] += rate[k] * (most + 1.0);
    }
  }
}

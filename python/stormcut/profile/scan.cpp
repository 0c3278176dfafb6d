// Finds the parts of the lines of a metrics log; see scan.py.
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "../native/arrays.h"

namespace {

// More digits than any time has.
constexpr Int MAX_DIGITS = 11;
constexpr int TABS = 4;

const char* find(const char* begin, const char* end, char wanted) {
  auto found = static_cast<const char*>(std::memchr(begin, wanted, end - begin));
  return found ? found : end;
}

// The number after the last space before `end`, -1 if it is not one of a few plain digits.
Int last_number(const char* begin, const char* end) {
  Int number = 0, weight = 1;
  const char* at = end;
  for (; at != begin && at[-1] != ' '; at--) {
    if (at[-1] < '0' || at[-1] > '9' || end - at >= MAX_DIGITS) return -1;
    number += weight * (at[-1] - '0');
    weight *= 10;
  }
  return at == end ? -1 : number;
}

struct Scan {
  const char* text;
  Row<Int> begins, values, ends, epochs, series;
  Row<Int> series_begins, series_ends;
  std::unordered_map<std::string_view, Int> known;
  Int lines = 0;

  Int id_of(const char* begin, const char* end) {
    std::string_view name(begin, end - begin);
    auto [at, is_new] = known.try_emplace(name, static_cast<Int>(known.size()));
    if (is_new) {
      series_begins[at->second] = begin - text;
      series_ends[at->second] = end - text;
    }
    return at->second;
  }

  void take(const char* begin, const char* end) {
    const char* tabs[TABS];
    const char* at = begin;
    int seen = 0;
    for (; seen < TABS; seen++) {
      tabs[seen] = find(at, end, '\t');
      if (tabs[seen] == end) break;
      at = tabs[seen] + 1;
    }
    bool whole = seen == TABS;
    begins[lines] = begin - text;
    ends[lines] = end - text;
    values[lines] = at - text;
    epochs[lines] = whole ? last_number(begin, tabs[0]) : -1;
    series[lines] = epochs[lines] < 0 ? -1 : id_of(tabs[0] + 1, tabs[TABS - 1]);
    lines++;
  }
};

}  // namespace

extern "C" {

Int scan_lines(Row<const unsigned char> text, Row<Int> begins, Row<Int> values, Row<Int> ends,
               Row<Int> epochs, Row<Int> series, Row<Int> series_begins, Row<Int> series_ends) {
  auto at = reinterpret_cast<const char*>(text.data);
  const char* const end = at + text.size;
  Scan scan{at, begins, values, ends, epochs, series, series_begins, series_ends, {}};
  while (at != end) {
    const char* line_end = find(at, end, '\n');
    const char* next = line_end == end ? end : line_end + 1;
    // Of a return before it, the new line makes no other line; one alone does.
    if (line_end != end && line_end != at && line_end[-1] == '\r') line_end--;
    for (const char* part = find(at, line_end, '\r'); part != line_end;
         part = find(at, line_end, '\r')) {
      scan.take(at, part);
      at = part + 1;
    }
    if (at != end) scan.take(at, line_end);
    at = next;
  }
  return scan.lines;
}

}  // extern "C"

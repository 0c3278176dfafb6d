// Views of numpy arrays: they own nothing, rows lie one after another. With -UNDEBUG every index
// is checked.
#pragma once

#include <cassert>
#include <cstdint>

using Int = std::int64_t;

template <class T>
struct Row {
  T* data;
  Int size;

  T& operator[](Int i) const {
    assert(0 <= i && i < size);
    return data[i];
  }
  T* begin() const { return data; }
  T* end() const { return data + size; }

  Row part(Int from, Int to) const {
    assert(0 <= from && from <= to && to <= size);
    return {data + from, to - from};
  }

  void fill(T value) const {
    for (T& each : *this) each = value;
  }

  void copy(Row<T> other) const {
    assert(size == other.size);
    for (Int i = 0; i < size; i++) data[i] = other.data[i];
  }

  T sum() const {
    T result = 0;
    for (const T& each : *this) result += each;
    return result;
  }
};

template <class T>
struct Matrix {
  T* data;
  Int rows, columns;

  T& operator()(Int i, Int j) const {
    assert(0 <= i && i < rows && 0 <= j && j < columns);
    return data[i * columns + j];
  }
  Row<T> operator[](Int i) const {
    assert(0 <= i && i < rows);
    return {data + i * columns, columns};
  }
  Row<T> all() const { return {data, rows * columns}; }
};

template <class T>
struct Cube {
  T* data;
  Int layers, rows, columns;

  T& operator()(Int i, Int j, Int k) const {
    assert(0 <= i && i < layers && 0 <= j && j < rows && 0 <= k && k < columns);
    return data[(i * rows + j) * columns + k];
  }
  Row<T> row(Int i, Int j) const {
    assert(0 <= i && i < layers && 0 <= j && j < rows);
    return {data + (i * rows + j) * columns, columns};
  }
};

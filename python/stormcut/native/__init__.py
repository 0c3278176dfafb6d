"""Compiled code: the C++ library, and foreign code in processes of its own."""

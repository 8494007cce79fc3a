// A torn value is passed by value, without optimisation.
//
// class: accesses that nobody saw
// bug: torn-value
// operations: [("insert", 1), ("update", 1)]
// flags: -O0
#include "targets/regression/unseen/struct_by_value.cc"

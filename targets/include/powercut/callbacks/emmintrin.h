/* In front of the compiler's own, which its other headers include as well: no guard. The order counts. */
/* clang-format off */
#include "intrinsics.h"
#include_next <emmintrin.h>

/* Types that host part and device part share, with marks of entry points on them. */
#include <stdint.h>
#ifdef __DPA__
#include <dpaintrin.h>
#else
#define __dpa_global__
#define __dpa_rpc__
#endif

struct __dpa_global__ shared { uint64_t number; };
typedef struct { uint64_t x, y; } __dpa_global__ pair;
__dpa_global__ typedef struct other { uint64_t x; } other;
typedef uint64_t __dpa_rpc__ number;
typedef __dpa_rpc__ uint64_t (*function)(uint64_t);
enum __dpa_global__ colour { RED };
union __attribute__((aligned(8))) __dpa_global__ both { uint64_t x; };

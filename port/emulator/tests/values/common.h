/* Structures that travel by value. */
#include <stdint.h>

struct in_one { int32_t number; float part; };
struct floats { float x, y, z; };
struct whole_first { int64_t number; double part; };
struct part_first { double part; int64_t number; };
struct two { uint64_t first, second; };
struct nested { struct in_one one; struct { uint16_t a; uint8_t b[3]; } rest; };
union either { double part; uint64_t bits; };
struct bits { uint32_t low : 5, high : 20; uint64_t wide : 40; };
struct three { uint64_t words[3]; };
struct long_one { uint32_t number; double parts[9]; uint64_t last; };
struct packed { uint8_t first; uint64_t second; } __attribute__((packed));
struct aligned { uint64_t word; } __attribute__((aligned(16)));
struct has_long_double { long double number; };
struct nothing { };
enum colour { RED, GREEN = 7 };

/* Byte order: queues are big endian, the DPA is little endian. */
#pragma once

#include <stdint.h>

typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint64_t __be64;
typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;

#define cpu_to_be16(value) ((__be16)__builtin_bswap16(value))
#define cpu_to_be32(value) ((__be32)__builtin_bswap32(value))
#define cpu_to_be64(value) ((__be64)__builtin_bswap64(value))
#define be16_to_cpu(value) ((uint16_t)__builtin_bswap16(value))
#define be32_to_cpu(value) ((uint32_t)__builtin_bswap32(value))
#define be64_to_cpu(value) ((uint64_t)__builtin_bswap64(value))
#define cpu_to_le16(value) ((__le16)(value))
#define cpu_to_le32(value) ((__le32)(value))
#define cpu_to_le64(value) ((__le64)(value))
#define le16_to_cpu(value) ((uint16_t)(value))
#define le32_to_cpu(value) ((uint32_t)(value))
#define le64_to_cpu(value) ((uint64_t)(value))

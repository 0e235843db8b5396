/* Intrinsics of the DPA's compiler, by name and meaning. Fences tell the emulator what they order. */
#pragma once

#include <stdint.h>

#define __DPA_HEAP 1
#define __DPA_MEMORY 2
#define __DPA_MMIO 4
#define __DPA_SYSTEM 7
#define __DPA_R 1
#define __DPA_W 2
#define __DPA_RW 3

/* Entry points: dpacc finds them by these sections. It leaves the marks away where they stand on
 * types, which it sees in text that still has them. */
#ifndef DPACC_MARKS
#define __dpa_global__ __attribute__((section("dpa_global"), used, noinline))
#define __dpa_rpc__ __attribute__((section("dpa_rpc"), used, noinline))
#endif

uint64_t dpa_emulator_cycles(void);
uint64_t dpa_emulator_time(void);
void dpa_emulator_fence(int space, int before, int after);

/* The call is a fence of this machine, and the compiler moves no access over it. */
#define __dpa_thread_fence(space, before, after) dpa_emulator_fence(space, before, after)
#define __dpa_thread_memory_fence(before, after) __dpa_thread_fence(__DPA_MEMORY, before, after)
#define __dpa_thread_window_fence(before, after) __dpa_thread_fence(__DPA_MMIO, before, after)
#define __dpa_thread_outbox_fence(before, after) __dpa_thread_fence(__DPA_MMIO, before, after)
#define __dpa_thread_system_fence() __dpa_thread_fence(__DPA_SYSTEM, __DPA_RW, __DPA_RW)
#define __dpa_thread_memory_writeback() __dpa_thread_fence(__DPA_MEMORY, __DPA_W, __DPA_W)
#define __dpa_thread_window_writeback() __dpa_thread_fence(__DPA_MMIO, __DPA_W, __DPA_W)
#define __dpa_thread_window_read_inv() __dpa_thread_fence(__DPA_MMIO, __DPA_R, __DPA_R)
#define __dpa_thread_cycles() dpa_emulator_cycles()
#define __dpa_thread_inst_ret() dpa_emulator_cycles()
#define __dpa_thread_time() dpa_emulator_time()
#define __dpa_data_ignore(address) ((void)(address))

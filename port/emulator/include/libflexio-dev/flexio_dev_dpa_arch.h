/* Locks between threads of one process. A thread that waits yields to others. */
#pragma once

#include <stdint.h>

struct spinlock_s {
	uint32_t locked;
};

void dpa_emulator_spin(void);

/* ordering: who takes the lock acquires what its last holder released. */
#define spin_init(lock) __atomic_store_n(&(lock)->locked, 0, __ATOMIC_RELEASE)
#define spin_lock(lock)                                                           \
	do {                                                                      \
		while (__atomic_exchange_n(&(lock)->locked, 1, __ATOMIC_ACQUIRE)) \
			dpa_emulator_spin();                                      \
	} while (0)
/* 0 if the lock was taken. */
#define spin_trylock(lock)                                                   \
	__extension__({                                                      \
		int held_ = (int)__atomic_exchange_n(&(lock)->locked, 1, __ATOMIC_ACQUIRE); \
		if (held_)                                                   \
			dpa_emulator_spin();                                 \
		held_;                                                       \
	})
#define spin_unlock(lock) __atomic_store_n(&(lock)->locked, 0, __ATOMIC_RELEASE)

/* What the handlers need of the card's system. virt.c has them for the board `virt` of QEMU. */
#ifndef DPAMATCH_SYSTEM_H
#define DPAMATCH_SYSTEM_H

#include <stdint.h>

/* From now on the next ring of this event starts the handler again. A ring before counts, too. */
void system_arm(uint32_t event);
/* Starts the handler of an event. */
void system_doorbell(uint32_t event);
/* Ends this activation; the next one begins from the top when the event rings. */
void system_reschedule(void);
/* Ends this activation; the next one begins at once. */
void system_retrigger(void);
/* Something else is waited for. */
void system_pause(void);

#endif

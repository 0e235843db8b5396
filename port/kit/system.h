/* Calls of the card's system that the handlers need. virt.c has them for QEMU's board `virt`. */
#ifndef DPAMATCH_SYSTEM_H
#define DPAMATCH_SYSTEM_H

#include <stdint.h>

/* Lets the next ring of this event start the handler again; an earlier ring counts, too. */
void system_arm(uint32_t event);
/* Starts the handler of an event. */
void system_doorbell(uint32_t event);
/* Ends this activation; the next one begins from the top when the event rings. */
void system_reschedule(void);
/* Ends this activation; the next one begins at once. */
void system_retrigger(void);
/* Pauses in a wait loop. */
void system_pause(void);

#endif

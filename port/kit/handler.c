/* The skeleton of a card's event handlers: poll, let workers rest, arm, poll again, reschedule.
 * system.h has the calls of the card's system; docs/port.md names the real calls for each. */
#include "handler.h"

/* A worker's activation. Its stack does not outlive it; `context` does. */
void worker_handler(uint64_t argument)
{
    struct worker_context *context = (struct worker_context *)argument;
    struct card_context *shared = context->shared;

    __atomic_fetch_add(&shared->running, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&shared->rest, __ATOMIC_ACQUIRE)) {
        if (!dpamatch_worker_round(context->worker))
            system_pause();
    }
    /* Armed before it counts as gone: from then on the leader may ring. */
    system_arm(context->event);
    __atomic_fetch_sub(&shared->running, 1, __ATOMIC_RELEASE);
    system_reschedule();
}

/* The leader's activation, after a message or a post. */
void leader_handler(uint64_t argument)
{
    struct leader_context *context = (struct leader_context *)argument;
    struct card_context *shared = context->shared;
    uint32_t others = shared->workers - 1;

    /* The leader waits for a block's slices, so only running workers get one. */
    __atomic_store_n(&shared->rest, 0, __ATOMIC_RELEASE);
    for (uint32_t worker = 1; worker <= others; worker++)
        system_doorbell(context->events[worker]);
    while (__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE) != others)
        system_pause();

    /* One activation is bounded: the card's system kills handlers that never leave. */
    uint32_t budget = context->rounds_most;
    while (budget != 0 && dpamatch_leader_round(shared->card, shared->workers))
        budget--;

    __atomic_store_n(&shared->rest, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE) != 0)
        system_pause();

    system_arm(context->events[0]);
    /* A message between the last poll and the arming rings no bell: poll once more. */
    if (budget == 0 || dpamatch_leader_round(shared->card, 1))
        system_retrigger();
    else
        system_reschedule();
}

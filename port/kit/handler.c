/* The skeleton of a card's event handlers: poll, say that all may rest, arm, look again, reschedule.
 * What the card's system does is in system.h; docs/port.md names the calls for each. */
#include "handler.h"

/* A worker's activation. Its stack does not survive it; what must, is in `context`. */
void worker_handler(uint64_t argument)
{
    struct worker_context *context = (struct worker_context *)argument;
    struct card_context *shared = context->shared;

    __atomic_fetch_add(&shared->running, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&shared->rest, __ATOMIC_ACQUIRE)) {
        if (!dpamatch_worker_round(context->worker))
            system_pause();
    }
    /* Armed before it counts as gone: the leader may ring as soon as it does. */
    system_arm(context->event);
    __atomic_fetch_sub(&shared->running, 1, __ATOMIC_RELEASE);
    system_reschedule();
}

/* The leader's activation: a message or a post has come. */
void leader_handler(uint64_t argument)
{
    struct leader_context *context = (struct leader_context *)argument;
    struct card_context *shared = context->shared;
    uint32_t others = shared->workers - 1;

    /* A block's slices are waited for: whoever gets one must be running. */
    __atomic_store_n(&shared->rest, 0, __ATOMIC_RELEASE);
    for (uint32_t worker = 1; worker <= others; worker++)
        system_doorbell(context->events[worker]);
    while (__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE) != others)
        system_pause();

    /* A bound on one activation: the card's system ends handlers that never leave. */
    uint32_t budget = context->rounds_most;
    while (budget != 0 && dpamatch_leader_round(shared->card, shared->workers))
        budget--;

    __atomic_store_n(&shared->rest, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE) != 0)
        system_pause();

    system_arm(context->events[0]);
    /* What came between the last look and the arming rings nobody: look once more. */
    if (budget == 0 || dpamatch_leader_round(shared->card, 1))
        system_retrigger();
    else
        system_reschedule();
}

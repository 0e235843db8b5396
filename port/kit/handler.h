/* State of the handlers between activations. */
#ifndef DPAMATCH_HANDLER_H
#define DPAMATCH_HANDLER_H

#include "dpamatch_card.h"
#include "system.h"

/* Shared by all handlers. Each word that several of them write has its own line. */
struct card_context {
    dpamatch_card *card;
    uint32_t workers; /* with the leader */
    uint32_t running __attribute__((aligned(64))); /* workers inside an activation */
    uint32_t rest __attribute__((aligned(64)));    /* not 0: workers leave their activations */
};

struct worker_context {
    struct card_context *shared;
    dpamatch_worker_part *worker;
    uint32_t event;
};

struct leader_context {
    struct card_context *shared;
    const uint32_t *events; /* by worker */
    uint32_t rounds_most;   /* rounds of one activation */
};

void worker_handler(uint64_t argument);
void leader_handler(uint64_t argument);

#endif

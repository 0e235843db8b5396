/* Writes the archive beside this file with libotf2 3.0.2:
 *   cc make.c -lotf2 -o make && ./make FOLDER
 * Three ranks run at locations 70, 50 and 60; location 55 is a thread without rank. Ranks 2 and 0,
 * in this order, share a communicator, whose number differs between locations. */
#include <otf2/otf2.h>

enum { STRINGS = 1, WORLD = 5, ITSELF = 6, PAIR = 7, EVERY = 11, ALL = 12, OWN = 13, TWO = 14 };
enum { INIT, IRECV, ISEND, TEST, WAITALL, CANCEL, WAIT, SENDRECV, SSEND, RECV, ALLREDUCE, STARTALL,
       WAITSOME, BCAST, GATHER, FINALIZE, MAIN, FUNCTIONS };
static const char *const names[] = {
    "MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Test", "MPI_Waitall", "MPI_Cancel", "MPI_Wait",
    "MPI_Sendrecv()", "MPI_Ssend", "MPI_Recv", "MPI_Allreduce", "MPI_Startall", "MPI_Waitsome",
    "MPI_Bcast", "MPI_Gather", "MPI_Finalize", "main",
    "MPI_COMM_WORLD", "MPI_COMM_SELF", "pair",
};
static const uint64_t locations[] = {70, 50, 60, 55};
static uint64_t counts[4], now;
static OTF2_EvtWriter *out;

static OTF2_FlushType before(void *d, OTF2_FileType t, OTF2_LocationRef l, void *c, bool final) {
    return OTF2_FLUSH;
}
static OTF2_TimeStamp after(void *d, OTF2_FileType t, OTF2_LocationRef l) { return now; }

/* Location 50 numbers its regions backwards. */
static uint32_t region(int function) {
    return out && counts[3] == 1 ? FUNCTIONS - 1 - function : function;
}
#define IN(function, ...) \
    do { OTF2_EvtWriter_Enter(out, NULL, now += 3, region(function)); now += 2; \
         __VA_ARGS__; OTF2_EvtWriter_Leave(out, NULL, now += 5, region(function)); } while (0)
#define EVENT(name, ...) OTF2_EvtWriter_##name(out, NULL, now += 1, ##__VA_ARGS__)
#define COLLECTIVE(op, comm, root, sent, received) \
    do { EVENT(MpiCollectiveBegin); \
         EVENT(MpiCollectiveEnd, OTF2_COLLECTIVE_OP_##op, comm, root, sent, received); } while (0)

/* The numbers of world and pair at a location. */
static void rank_0(uint32_t world, uint32_t pair) {
    IN(IRECV, EVENT(MpiIrecvRequest, 9));
    IN(IRECV, EVENT(MpiIrecvRequest, 8));
    IN(ISEND, EVENT(MpiIsend, 0, pair, 40, 300, 7));
    IN(TEST, EVENT(MpiRequestTest, 9));
    IN(WAITALL, EVENT(MpiIsendComplete, 7); EVENT(MpiIrecv, 0, pair, 41, 70000, 9));
    IN(CANCEL);
    IN(WAIT, EVENT(MpiRequestCancelled, 8));
    IN(SENDRECV, EVENT(MpiSend, 1, world, 5, 11); EVENT(MpiRecv, 2, world, 6, 13));
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    OTF2_AttributeList_AddUint64(list, 0, 26602);
    IN(SSEND, OTF2_EvtWriter_MpiSend(out, list, now, 1, world, 7, 17));
    OTF2_AttributeList_Delete(list);
    IN(ALLREDUCE, COLLECTIVE(ALLREDUCE, world, OTF2_UNDEFINED_UINT32, 24, 24));
    IN(STARTALL, EVENT(MpiIsend, 1, world, 9, 19, 20); EVENT(MpiIsend, 2, world, 8, 23, 21));
    IN(WAITSOME, EVENT(MpiRequestTest, 20); EVENT(MpiIsendComplete, 21));
    IN(WAIT, EVENT(MpiIsendComplete, 20));
    IN(BCAST, COLLECTIVE(BCAST, pair, 1, 64, 32));
    IN(GATHER, COLLECTIVE(GATHER, world, 2, 40, 0));
    EVENT(MpiSend, 1, world, 3, 29);
}
static void rank_1(uint32_t world) {
    IN(IRECV, EVENT(MpiIrecvRequest, 1));
    IN(RECV, EVENT(MpiRecv, 0, world, 7, 17));
    IN(WAIT, EVENT(MpiIrecv, 0, world, 5, 11, 1));
    IN(ALLREDUCE, COLLECTIVE(ALLREDUCE, world, OTF2_UNDEFINED_UINT32, 24, 24));
    IN(IRECV, EVENT(MpiIrecvRequest, 1));
    IN(IRECV, EVENT(MpiIrecvRequest, 2));
    IN(WAITALL, EVENT(MpiIrecv, 0, world, 3, 29, 2); EVENT(MpiIrecv, 0, world, 9, 19, 1));
    IN(GATHER, COLLECTIVE(GATHER, world, 2, 40, 0));
}
static void rank_2(uint32_t world, uint32_t pair) {
    IN(SENDRECV, EVENT(MpiSend, 0, world, 6, 13); EVENT(MpiRecv, 1, pair, 40, 300));
    IN(SSEND, EVENT(MpiSend, 1, pair, 41, 70000));
    IN(ALLREDUCE, COLLECTIVE(ALLREDUCE, world, OTF2_UNDEFINED_UINT32, 24, 24));
    IN(RECV, EVENT(MpiRecv, 0, world, 8, 23));
    IN(BCAST, COLLECTIVE(BCAST, pair, 1, 0, 32));
    IN(GATHER, COLLECTIVE(GATHER, world, 2, 40, 120));
}

static void table(OTF2_DefWriter *local, OTF2_MappingType of, size_t size, const uint64_t *map) {
    OTF2_IdMap *numbers = OTF2_IdMap_CreateFromUint64Array(size, map, false);
    OTF2_DefWriter_WriteMappingTable(local, of, numbers);
    OTF2_IdMap_Free(numbers);
}

int main(int arguments, char **words) {
    OTF2_Archive *archive = OTF2_Archive_Open(words[1], "three", OTF2_FILEMODE_WRITE,
        262144, 262144, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_FlushCallbacks flush = {.otf2_pre_flush = before, .otf2_post_flush = after};
    OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    for (int rank = 0; rank < 4; rank++) {
        out = OTF2_Archive_GetEvtWriter(archive, locations[rank]);
        counts[3] = rank;
        now = 1000 + 100 * rank;
        OTF2_EvtWriter_Enter(out, NULL, now, region(MAIN));
        IN(INIT);
        if (rank == 0) rank_0(0, 1);
        if (rank == 1) rank_1(WORLD);
        if (rank == 2) rank_2(2, 0);
        EVENT(ThreadFork, OTF2_PARADIGM_OPENMP, 4);
        EVENT(OmpFork, 3);
        IN(FINALIZE);
        OTF2_EvtWriter_Leave(out, NULL, now, region(MAIN));
        OTF2_EvtWriter_GetNumberOfEvents(out, &counts[rank == 3 ? 0 : rank]);
        OTF2_Archive_CloseEvtWriter(archive, out);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    out = NULL;

    OTF2_Archive_OpenDefFiles(archive);
    for (int rank = 0; rank < 4; rank++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, locations[rank]);
        uint64_t backwards[FUNCTIONS];
        for (int at = 0; at < FUNCTIONS; at++) backwards[at] = FUNCTIONS - 1 - at;
        if (rank == 0) table(local, OTF2_MAPPING_COMM, 2, (uint64_t[]){WORLD, PAIR});
        if (rank == 1) table(local, OTF2_MAPPING_REGION, FUNCTIONS, backwards);
        if (rank == 2) table(local, OTF2_MAPPING_COMM, 3, (uint64_t[]){PAIR, ITSELF, WORLD});
        OTF2_DefWriter_WriteClockOffset(local, 1000, 10 * rank, 0);
        OTF2_DefWriter_WriteClockOffset(local, 1200, 10 * rank + 20, 0);
        OTF2_Archive_CloseDefWriter(archive, local);
    }
    OTF2_Archive_CloseDefFiles(archive);

    OTF2_GlobalDefWriter *global = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(global, 500000000, 900, 5000, OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(global, 0, "");
    for (int at = 0; at < FUNCTIONS + 3; at++) {
        OTF2_GlobalDefWriter_WriteString(global, STRINGS + at, names[at]);
        if (at < FUNCTIONS)
            OTF2_GlobalDefWriter_WriteRegion(global, at, STRINGS + at, STRINGS + at, 0,
                OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, 0, 0, 0, 0);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(global, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (int rank = 0; rank < 4; rank++) {
        if (rank < 3)
            OTF2_GlobalDefWriter_WriteLocationGroup(global, rank, 0,
                OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(global, locations[rank], 0,
            OTF2_LOCATION_TYPE_CPU_THREAD, counts[0], rank % 3);
    }
    OTF2_GlobalDefWriter_WriteGroup(global, 10, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS,
        OTF2_PARADIGM_PTHREAD, OTF2_GROUP_FLAG_NONE, 4, locations);
    OTF2_GlobalDefWriter_WriteGroup(global, EVERY, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS,
        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 3, locations);
    OTF2_GlobalDefWriter_WriteGroup(global, ALL, 0, OTF2_GROUP_TYPE_COMM_GROUP,
        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 3, (uint64_t[]){0, 1, 2});
    OTF2_GlobalDefWriter_WriteGroup(global, OWN, 0, OTF2_GROUP_TYPE_COMM_SELF,
        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 0, NULL);
    OTF2_GlobalDefWriter_WriteGroup(global, TWO, 0, OTF2_GROUP_TYPE_COMM_GROUP,
        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, (uint64_t[]){2, 0});
    const uint32_t groups[] = {ALL, OWN, TWO};
    for (int at = 0; at < 3; at++)
        OTF2_GlobalDefWriter_WriteComm(global, WORLD + at, STRINGS + FUNCTIONS + at, groups[at],
            OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    return OTF2_Archive_Close(archive) != OTF2_SUCCESS;
}

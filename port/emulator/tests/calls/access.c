/* Accesses of the heap: blocks, freed ones, what a doorbell announces. */
static void access_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *domain;
	struct flexio_process *process;
	uint64_t steps, block, other, state, id, sends, ring, record, cqn, sqn, key_id, window_id,
		qpn;
	flexio_func_t *handle;
	struct flexio_event_handler *handler;
	struct flexio_cq *cq;
	struct flexio_sq *sq;
	struct flexio_mkey *key;
	uint8_t *memory;
	struct ibv_mr *region;
	struct flexio_window *window;
	struct flexio_qp_attr qp_attr;
	struct flexio_qp *qp;

	/* Places of the heap: the end of a block, between two, one that is free again, words across
	 * lines. */
	list = ibv_get_device_list(NULL);
	context = ibv_open_device(*list);
	domain = ibv_alloc_pd(context);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	IS(flexio_buf_dev_alloc(process, 2048, &steps), 0);
	IS(flexio_buf_dev_alloc(process, 200, &block), 0);
	IS(flexio_buf_dev_alloc(process, 200, &other), 0);
	IS(flexio_buf_dev_memset(process, 0x61, 200, block), 0);
	WORDS(steps, 1, block + 199, 1, 0, 1, block, 8, 0, 1, block + 192, 8, 0, 0);
	IS(CALL(process, steps, steps), 0x6161616161616161);
	WORDS(steps, 1, block + 196, 8, 0, 0);
	SAYS(CALL(process, steps, steps), 0x61616161,
		"dpa: process 1, thread 1 (steps), activation 1: reads 8 bytes at 0x200000000944, "
			"in no block of the heap: at byte 196 of one of 200 bytes\ndpa: process 1, "
			"thread 1 (steps), activation 1: reads 8 bytes at 0x200000000944, which is "
			"not aligned");
	WORDS(steps, 1, block + 200, 1, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 2 (steps), activation 1: reads 1 bytes at 0x200000000948, "
			"in no block of the heap: at byte 200 of one of 200 bytes");
	WORDS(steps, 2, block - 1, 0, 1, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 3 (steps), activation 1: writes 1 bytes at 0x20000000087f, "
			"in no block of the heap: 1 byte before one of 200 bytes");
	WORDS(steps, 1, block + 193, 2, 0, 0);
	SAYS(CALL(process, steps, steps), 0x6161,
		"dpa: process 1, thread 4 (steps), activation 1: reads 2 bytes at 0x200000000941, "
			"which is not aligned");
	WORDS(steps, 1, block + 194, 4, 0, 0);
	SAYS(CALL(process, steps, steps), 0x61616161,
		"dpa: process 1, thread 5 (steps), activation 1: reads 4 bytes at 0x200000000942, "
			"which is not aligned");
	WORDS(steps, 1, block + 188, 8, 0, 0);
	SAYS(CALL(process, steps, steps), 0x6161616161616161,
		"dpa: process 1, thread 6 (steps), activation 1: reads 8 bytes at 0x20000000093c, "
			"which is not aligned");
	WORDS(steps, 1, block + 194, 2, 0, 1, block + 188, 4, 0, 0);
	IS(CALL(process, steps, steps), 0x61616161);
	IS(flexio_buf_dev_free(process, other), 0);
	WORDS(steps, 8, block, other, 1, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 8 (steps), activation 1: reads 1 bytes at 0x2000000009c0, "
			"in no block of the heap: in one of 200 bytes that was freed");
	WORDS(steps, 8, block, other, 0, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 8, block, block + 100, 100, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 8, block + 101, block, 100, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 11 (steps), activation 1: writes 100 bytes at "
			"0x2000000008e5, in no block of the heap: at byte 101 of one of 200 bytes");

	/* A handler looks at a block, which the host gives back between two activations. */
	state = filled(process, 48, 0);
	IS(flexio_buf_dev_alloc(process, 64, &other), 0);
	POKE(state + 40, 0x4009, 2);
	IS(flexio_func_register(calls, "handle", &handle), 0);
	IS(flexio_event_handler_create(process,
		&(struct flexio_event_handler_attr){ .host_stub_func = handle }, &handler), 0);
	id = flexio_event_handler_get_id(handler);
	memcpy((void *)(state + 40), &other, 8);
	IS(flexio_event_handler_run(handler, state), 0);
	IS(CALL(process, activate, id), 0);
	UNTIL(WORD(state), 1);
	memcpy((void *)(state + 40), &other, 8);
	IS(flexio_buf_dev_free(process, other), 0);
	CALL(process, activate, id);
	UNTIL(CALL(process, load, state), 2);
	SAID("dpa: process 1, thread 12 (handle), activation 2: reads 1 bytes at 0x200000000b80, "
			"in no block of the heap: in one of 64 bytes that was freed");
	IS(flexio_event_handler_destroy(handler), 0);

	/* A doorbell announces an entry of 48 bytes, and 60 bytes of data. */
	sends = filled(process, 256, 0);
	IS(flexio_buf_dev_alloc(process, 64, &ring), 0);
	IS(flexio_buf_dev_alloc(process, 8, &record), 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .element_type = 8,
		.overrun_ignore = 1, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(flexio_sq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 2,
		.wq_ring_qmem.daddr = sends }, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	IS(flexio_device_mkey_create(process, &(struct flexio_mkey_attr){ .pd = domain,
		.daddr = block, .len = 200 }, &key), 0);
	key_id = flexio_mkey_get_id(key);
	POKE(sends, 10, 4, sqn, 3, 3, 1, 0, 8, 0, 16, 60, 4, key_id, 4, block + 64, 8);
	POKE(sends + 64, 0, 1, 1, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 60, 4, key_id, 4, block + 64,
		8);
	POKE(sends + 128, 0, 1, 2, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 60, 4, key_id, 4,
		block + 64, 8);
	POKE(sends + 192, 0, 1, 3, 2, 10, 1, sqn, 3, 3, 1, 0, 8, 0, 16, 60, 4, key_id, 4,
		block + 64, 8);
	WORDS(steps, 2, block + 60, 1, 4, 7, 1, sqn, 0, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 2, block + 60, 1, 5, 7, 2, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 17 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after its data was written");
	WORDS(steps, 2, block + 123, 1, 1, 7, 3, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 18 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after its data was written");
	WORDS(steps, 2, block + 124, 1, 9, 7, 4, sqn, 0, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 2, sends + 15, 1, 1, 7, 5, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 20 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after an entry was written");
	WORDS(steps, 2, sends + 112, 1, 1, 7, 6, sqn, 0, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 2, block + 64, 1, 1, 3, 2, 2, 2, 7, 7, sqn, 0, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 2, block + 64, 1, 1, 3, 1, 3, 1, 7, 8, sqn, 0, 0);
	IS(CALL(process, steps, steps), 0);
	WORDS(steps, 2, block + 64, 1, 1, 3, 4, 2, 2, 7, 9, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 24 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after its data was written");
	WORDS(steps, 2, block + 64, 1, 1, 3, 2, 1, 2, 7, 10, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 25 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after its data was written");
	WORDS(steps, 2, block + 64, 1, 1, 2, steps + 1024, 2, 63, 7, 11, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 26 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after its data was written");
	WORDS(steps, 2, block + 64, 1, 1, 2, steps + 1024, 2, 64, 7, 12, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 27 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after its data was written");

	/* An entry of two units around the ring's end. */
	POKE(sends, 0, 1, 0, 2, 0, 1, sqn, 3, 1, 1, 0, 8);
	POKE(sends + 64, 0, 1, 1, 2, 0, 1, sqn, 3, 1, 1, 0, 8);
	POKE(sends + 128, 0, 1, 2, 2, 0, 1, sqn, 3, 1, 1, 0, 8);
	POKE(sends + 192, 0, 1, 3, 2, 0, 1, sqn, 3, 5, 1, 0, 8);
	WORDS(steps, 7, 15, sqn, 0, 2, sends + 15, 1, 1, 7, 17, sqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 28 (steps), activation 1: doorbell of queue 0x100 without "
			"a write fence after an entry was written");
	POKE(sends, 0, 1, 0, 2, 0, 1, sqn, 3, 1, 1, 0, 8);
	WORDS(steps, 7, 19, sqn, 0, 2, sends + 16, 1, 1, 7, 21, sqn, 0, 0);
	IS(CALL(process, steps, steps), 0);

	/* A queue that is armed twice at one index in an activation; at two; again after an event. */
	WORDS(steps, 10, 3, cqn, 0, 10, 4, cqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 30 (steps), activation 1: completion queue 0x400 is armed "
			"at 3, and 0 completions were written; an entry had the owner bit of a "
			"completion before there was one");
	WORDS(steps, 10, 3, cqn, 0, 10, 3, cqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 31 (steps), activation 1: completion queue 0x400 is armed "
			"at 3, and 0 completions were written; an entry had the owner bit of a "
			"completion before there was one\ndpa: process 1, thread 31 (steps), "
			"activation 1: completion queue 0x400 is armed at 3 twice in this "
			"activation");
	WORDS(steps, 10, 3, cqn, 0, 11, cqn, 0, 0, 10, 3, cqn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 32 (steps), activation 1: completion queue 0x400 is armed "
			"at 3, and 0 completions were written; an entry had the owner bit of a "
			"completion before there was one");

	/* Both the heap and a window were written. */
	memory = calloc(1, 64);
	region = ibv_reg_mr(domain, memory, 64, 1);
	BYTES((uint8_t *)region + 36, "4a110000");
	IS(flexio_window_create(process, domain, &window), 0);
	window_id = flexio_window_get_id(window);
	IS(flexio_sq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 2,
		.wq_ring_qmem.daddr = sends }, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	POKE(sends, 10, 4, sqn, 3, 3, 1, 0, 8, 0, 16, 60, 4, key_id, 4, block + 64, 8);
	WORDS(steps, 4, 0, window_id, 0x114a, 5, 0, (uint64_t)memory, 0, 2, (uint64_t)memory, 1, 1,
		2, block + 64, 1, 1);
	WORDS(steps + 128, 7, 1, sqn, 0, 3, 4, 2, 2, 0);
	CALL(process, steps, steps);
	SAID("dpa: process 1, thread 33 (steps), activation 1: doorbell of queue 0x101 without a "
			"write fence after its data was written");

	/* A pair's entries name their data in other segments. */
	qp_attr = (struct flexio_qp_attr){ .rq_type = 3, .log_sq_depth = 2, .sq_cqn = cqn,
		.qp_wq_buff_qmem.daddr = sends };
	IS(flexio_qp_create(process, NULL, &qp_attr, &qp), 0);
	qpn = flexio_qp_get_qp_num(qp);
	POKE(sends, 10, 4, qpn, 3, 2, 1, 0, 8, 60, 4, key_id, 4, block + 64, 8);
	WORDS(steps, 2, block + 123, 1, 1, 7, 1, qpn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 34 (steps), activation 1: doorbell of queue 0x102 without "
			"a write fence after its data was written\ndpa: process 1, thread 34 "
			"(steps), activation 1: send queue 0x102, entry 0: QP 0x102 is in state 0");
	IS(flexio_qp_create(process, NULL, &qp_attr, &qp), 0);
	qpn = flexio_qp_get_qp_num(qp);
	POKE(sends, 8, 4, qpn, 3, 3, 1, 0, 8, block, 8, key_id, 4, 0, 4, 60, 4, key_id, 4,
		block + 64, 8);
	WORDS(steps, 2, block + 1, 1, 1, 7, 1, qpn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 35 (steps), activation 1: send queue 0x103, entry 0: QP "
			"0x103 is in state 0");
	IS(flexio_qp_create(process, NULL, &qp_attr, &qp), 0);
	qpn = flexio_qp_get_qp_num(qp);
	POKE(sends, 8, 4, qpn, 3, 3, 1, 0, 8, block, 8, key_id, 4, 0, 4, 60, 4, key_id, 4,
		block + 64, 8);
	WORDS(steps, 2, block + 64, 1, 1, 7, 1, qpn, 0, 0);
	SAYS(CALL(process, steps, steps), 0,
		"dpa: process 1, thread 36 (steps), activation 1: doorbell of queue 0x104 without "
			"a write fence after its data was written\ndpa: process 1, thread 36 "
			"(steps), activation 1: send queue 0x104, entry 0: QP 0x104 is in state 0");
	IS(flexio_process_destroy(process), 0);
	SAID("");
}

/* Calls of several versions. */
static void version_calls(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct flexio_process *process;
	struct mlx5dv_devx_uar *devx;
	struct flexio_uar *uar;
	uint8_t *asked, *frame, *match, *first, *second, *places, *actions;
	struct ibv_pd *domain;
	struct ibv_mr *region;
	uint64_t ring, sends, receives, record, cqn, sqn;
	struct flexio_cq *cq;
	struct flexio_sq *sq;
	struct flexio_rq *rq;
	struct mlx5dv_dr_domain *rx;
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_devx_obj *tir;
	struct mlx5dv_dr_action *queue, *network, *action;

	/* Calls of several versions, and verbs that ask for the device. */
	list = ibv_get_device_list(NULL);
	context = mlx5dv_open_device(*list, NULL);
	IS(flexio_process_create(context, calls, NULL, &process), 0);
	devx = mlx5dv_devx_alloc_uar(context, 1);
	BYTES((uint8_t *)devx + 16, "01000000");
	IS(flexio_uar_create(process, &uar), 0);
	mlx5dv_devx_free_uar(devx);
	asked = calloc(1, 64);
	IS(ibv_query_port(context, 1, (void *)asked), 0);
	BYTES(asked,
		"04000000 05000000 05000000 01000000 00000000 00000040 00000000 00000000 01000000 "
			"00000000 00000000 20050200");
	IS(ibv_query_gid(context, 1, 0, (void *)asked), 0);
	BYTES(asked, "fe800000 00000000 000000ff fe000001");
	SAYS(ibv_query_port(context, 2, (void *)asked), 22,
		"dpa: ibv_query_port: there is one port");
	IS(ibv_query_gid(context, 1, 1, (void *)asked), 0);

	/* A domain in use stays. */
	domain = ibv_alloc_pd(context);
	region = ibv_reg_mr(domain, asked, 64, 1);
	SAYS(ibv_dealloc_pd(domain), 16, "dpa: ibv_dealloc_pd: 1 memory regions are registered");
	IS(ibv_dereg_mr(region), 0);
	IS(ibv_dealloc_pd(domain), 0);
	IS(ibv_dealloc_pd(NULL), 0);

	/* No queue is as good as an empty one: nobody waits for ever. */
	SAYS(flexio_cmdq_is_empty(NULL), 1, "dpa: flexio_cmdq_is_empty: Tasks: a null pointer");

	/* A rule leads frames to a queue, and to the host's network as well. */
	ring = filled(process, 128, 0xff);
	IS(flexio_buf_dev_alloc(process, 512, &sends), 0);
	receives = filled(process, 128, 0);
	record = filled(process, 32, 0);
	IS(flexio_cq_create(process, NULL, &(struct flexio_cq_attr){ .log_cq_depth = 1,
		.element_type = 8, .cq_ring_qmem.daddr = ring, .cq_dbr_daddr = record }, &cq), 0);
	cqn = flexio_cq_get_cq_num(cq);
	IS(flexio_sq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 3,
		.wq_ring_qmem.daddr = sends }, &sq), 0);
	sqn = flexio_sq_get_wq_num(sq);
	IS(flexio_rq_create(process, NULL, cqn, &(struct flexio_wq_attr){ .log_wq_depth = 3,
		.wq_ring_qmem.daddr = receives, .wq_dbr_qmem.daddr = record + 16 }, &rq), 0);
	domain = ibv_alloc_pd(context);
	frame = calloc(1, 64);
	region = ibv_reg_mr(domain, frame, 64, 1);
	BYTES((uint8_t *)region + 36, "4a110000");
	rx = mlx5dv_dr_domain_create(context, 0);
	match = calloc(1, 72);
	POKE(match, 64, 1);
	table = mlx5dv_dr_table_create(rx, 0);
	matcher = mlx5dv_dr_matcher_create(table, 0, 1, (void *)match);
	tir = flexio_rq_get_tir(rq);
	queue = mlx5dv_dr_action_create_dest_devx_tir(tir);
	network = mlx5dv_dr_action_create_default_miss();
	first = calloc(1, 16);
	memcpy(first + 8, &network, 8);
	second = calloc(1, 16);
	memcpy(second + 8, &queue, 8);
	places = calloc(1, 24);
	memcpy(places, &first, 8);
	memcpy(places + 8, &second, 8);
	memcpy(places + 16, &second, 8);
	SAYS(mlx5dv_dr_action_create_dest_array(rx, 1, NULL), 0,
		"dpa: mlx5dv_dr_action_create_dest_array: no places");
	SAYS(mlx5dv_dr_action_create_dest_array(rx, 3, (void *)places), 0,
		"dpa: mlx5dv_dr_action_create_dest_array: an array of more than one place is not "
			"emulated");
	POKE(first, 1, 1);
	SAYS(mlx5dv_dr_action_create_dest_array(rx, 1, (void *)places), 0,
		"dpa: mlx5dv_dr_action_create_dest_array: an array of more than one place is not "
			"emulated");
	POKE(first, 0, 1);
	action = mlx5dv_dr_action_create_dest_array(rx, 2, (void *)places);
	actions = calloc(1, 8);
	memcpy(actions, &action, 8);
	mlx5dv_dr_rule_create(matcher, (void *)match, 1, (void *)actions);

	/* Three frames for a completion queue of two entries: the third waits for the doorbell
	 * record. */
	POKE(receives, 64, 4, 0x114a, 4, (uint64_t)frame, 8);
	memcpy((void *)(receives + 16), (void *)receives, 16);
	memcpy((void *)(receives + 32), (void *)receives, 32);
	memcpy((void *)(receives + 64), (void *)receives, 64);
	POKE(record + 16, 8, 4);
	POKE(sends, 10, 4, sqn, 3, 3, 1, 0, 8, 0, 16, 60, 4, 0x114a, 4, (uint64_t)frame, 8);
	memcpy((void *)(sends + 64), (void *)sends, 64);
	POKE(sends + 64, 0, 1, 1, 2, 10, 1);
	memcpy((void *)(sends + 128), (void *)sends, 128);
	POKE(sends + 128, 0, 1, 2, 2, 10, 1);
	POKE(sends + 192, 0, 1, 3, 2, 10, 1);
	memcpy((void *)(sends + 256), (void *)sends, 64);
	POKE(sends + 256, 0, 1, 4, 2, 10, 1);
	IS(CALL(process, ring, 3, sqn), 0);
	COMPLETION(ring + 64,
		"00000000 00000000 00000000 0000003c 00000000 00000000 00000101 00010020");
	usleep(20000);
	BYTES(ring + 60, "00000020");
	POKE(ring + 63, 0xff, 1);
	POKE(record, 1, 4);
	COMPLETION(ring, "00000000 00000000 00000000 0000003c 00000000 00000000 00000101 00020021");

	/* Nobody consumes: the queue overruns after a moment. */
	EQ(CALL(process, ring, 5, sqn), 0);
	SAID_LATER("dpa: completion queue 0x400 overruns: 2 of 2 entries wait, by its doorbell record");
	SAID("");
}

use super::*;

fn good() -> Settings {
    let room = RoomSettings {
        order: Order::Draw { seed_hash: Digest([0; 32]) },
        ..RoomSettings::default()
    };
    Settings {
        room: Some(room),
        starts_at: Some(Time(1_000)),
        refunds: vec![RefundRule { days_before: 1, percent: 50 }; 2],
        ..Settings::new("Gala", "EUR".parse().unwrap())
    }
}

#[test]
fn every_complaint_names_its_setting() {
    type Spoil = fn(&mut Settings, &mut RoomSettings);
    let cases: [(&str, Spoil); 36] = [
        ("title", |it, _| it.title = "".into()),
        ("hold_ttl_ms", |it, _| it.hold_ttl_ms = 0),
        ("hold_max_ms", |it, _| it.hold_max_ms = MAX_DURATION_MS + 1),
        ("hold_max_ms", |it, _| it.hold_max_ms = it.hold_ttl_ms - 1),
        ("payment_window_ms", |it, _| it.payment_window_ms = -1),
        ("payment_attempts", |it, _| it.payment_attempts = 0),
        ("fees.fixed_minor", |it, _| it.fees.fixed_minor = -1),
        ("fees.percent_bp", |it, _| it.fees.percent_bp = MAX_FEE_BP + 1),
        ("tax.name", |it, _| it.tax = Some(Tax { name: " ".into(), rate_bp: 700 })),
        ("tax.name", |it, _| it.tax = Some(Tax { name: "x".repeat(41).into(), rate_bp: 700 })),
        ("tax.rate_bp", |it, _| it.tax = Some(Tax { name: "VAT".into(), rate_bp: 10_001 })),
        ("amount_step_minor", |it, _| it.amount_step_minor = 0),
        ("amount_step_minor", |it, _| {
            it.currency = "MGA".parse().unwrap();
            it.amount_step_minor = 150;
        }),
        ("refunds", |it, _| it.refunds = vec![it.refunds[0]; MAX_REFUND_RULES + 1]),
        ("refunds", |it, _| it.starts_at = None),
        ("refunds[1].percent", |it, _| it.refunds[1].percent = 101),
        ("max_per_user", |it, _| it.max_per_user = Some(0)),
        ("max_per_email", |it, _| it.max_per_email = Some(0)),
        ("max_per_email", |it, _| it.max_per_email = Some(MAX_PER_PAYER + 1)),
        ("max_per_card", |it, _| it.max_per_card = Some(0)),
        ("max_per_card", |it, _| it.max_per_card = Some(MAX_PER_PAYER + 1)),
        ("claim_ttl_max_ms", |it, _| it.claim_ttl_max_ms = Some(0)),
        ("opens_at", |it, _| (it.prequeue_at, it.opens_at) = (Some(Time(2)), Some(Time(2)))),
        ("closes_at", |it, _| (it.opens_at, it.closes_at) = (Some(Time(2)), Some(Time(1)))),
        ("closes_at", |it, _| (it.prequeue_at, it.closes_at) = (Some(Time(2)), Some(Time(1)))),
        ("room.capacity", |_, room| room.capacity = 0),
        ("room.outflow_per_min", |_, room| room.outflow_per_min = Some(0)),
        ("room.session_ms", |_, room| room.session_ms = 0),
        ("room.place_ttl_ms", |_, room| room.place_ttl_ms = 0),
        ("room.arrive_ms", |_, room| room.arrive_ms = 0),
        ("room.max_queue_size", |_, room| room.max_queue_size = 0),
        ("room.max_queue_size", |_, room| room.max_queue_size = MAX_QUEUE_SIZE + 1),
        ("room.places_per_user", |_, room| room.places_per_user = 0),
        ("room.places_per_user", |_, room| room.places_per_user = 2),
        ("room.units_per_visitor", |_, room| room.units_per_visitor = 0),
        ("room.units_per_visitor", |_, room| room.units_per_visitor = 1_001),
    ];
    assert_eq!(good().complaint(), None);
    for (field, spoil) in cases {
        let mut settings = good();
        let mut room = settings.room.clone().unwrap();
        spoil(&mut settings, &mut room);
        settings.room = Some(room);
        assert_eq!(settings.complaint().expect(field).field, field);
    }
}

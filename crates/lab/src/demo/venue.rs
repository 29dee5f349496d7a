//! Where it all takes place: the seats of a plan, and standing places.

use super::api::{Api, CHILD, Obstacle};
use super::args::DemoArgs;
use super::wanted::STANDING;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const ARENA: &str = include_str!("../../../../examples/arena.json");

/// The house and what it costs.
pub(super) struct Venue {
    /// The pretix seating plan.
    plan: String,
    /// What each of its categories costs, as JSON.
    prices: String,
    /// Its categories.
    categories: Vec<String>,
    /// Its seats.
    pub(super) seats: u64,
    /// Standing places beside them.
    zone_capacity: u32,
}

impl Venue {
    /// The house that the command line says.
    pub(super) fn read(args: &DemoArgs) -> Result<Self, Obstacle> {
        #[derive(Deserialize)]
        struct Plan {
            #[serde(default)]
            categories: Vec<Category>,
            zones: Vec<Zone>,
        }
        #[derive(Deserialize)]
        struct Category {
            name: String,
        }
        #[derive(Deserialize)]
        struct Zone {
            rows: Vec<Row>,
        }
        #[derive(Deserialize)]
        struct Row {
            seats: Vec<Seat>,
        }
        #[derive(Deserialize)]
        struct Seat {
            category: String,
        }
        let plan = match &args.plan {
            None => ARENA.to_owned(),
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| format!("{}: {error}", path.display()))?,
        };
        let known: Plan =
            serde_json::from_str(&plan).map_err(|error| format!("the plan: {error}"))?;
        let rows = known.zones.iter().flat_map(|zone| &zone.rows);
        let seats: Vec<&str> =
            rows.flat_map(|row| &row.seats).map(|seat| seat.category.as_str()).collect();
        let mut unlisted: BTreeSet<&str> = seats.iter().copied().collect();
        // A plan lists its best category first.
        let listed = known.categories.iter().map(|category| category.name.as_str());
        let mut best_first: Vec<&str> = listed.filter(|name| unlisted.remove(name)).collect();
        best_first.extend(unlisted);
        let prices: BTreeMap<&str, i64> =
            best_first.into_iter().rev().zip((0..).map(|step| 4_500 + 1_500 * step)).collect();
        let categories = prices.keys().map(|name| (*name).to_owned()).collect();
        let prices = serde_json::to_string(&prices).map_err(|error| error.to_string())?;
        let seats = seats.len() as u64;
        Ok(Self { prices, categories, seats, zone_capacity: args.zone_capacity, plan })
    }

    /// Everything that can be sold.
    pub(super) fn capacity(&self) -> u64 {
        self.seats + u64::from(self.zone_capacity)
    }

    /// Creates the event with everything that can be sold, and lets people join.
    pub(super) async fn set_up(&self, api: &Api, key: &str, event: &str) -> Result<(), Obstacle> {
        let Self { plan, prices, zone_capacity, .. } = self;
        let name = api.event_id();
        api.admin("POST", "", key, event).await?;
        let zone = format!(
            "{{\"pool\":\"{STANDING}\",\"capacity\":{zone_capacity},\"price_minor\":3500}}"
        );
        api.admin("POST", &format!("/{name}/pools"), key, &zone).await?;
        let map = format!("{{\"plan\":{plan},\"prices\":{prices}}}");
        api.admin("PUT", &format!("/{name}/seat-map"), key, &map).await?;
        let of_categories = self.categories.iter().map(|category| json!({"category": category}));
        for mut types in of_categories.chain([json!({"pool": STANDING})]) {
            types["types"] = json!([
                {"id": "adult", "name": "Adult", "percent_bp": 10_000},
                {"id": CHILD, "name": "Child under 13", "percent_bp": 5_000, "proof": true},
            ]);
            (types["by"], types["why"]) = (json!("demo"), json!("families"));
            api.admin("PUT", &format!("/{name}/types"), key, &types.to_string()).await?;
        }
        api.admin("POST", &format!("/{name}/prequeue"), key, "{}").await
    }
}

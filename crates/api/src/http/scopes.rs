//! Which scope of a key each path of the organiser's needs: told here and nowhere else.
//!
//! `doorkeeper.rs` lets in by this table, the OpenAPI document shows it, and tests walk it.

use axum::http::Method;
use onrush_base::config::keys::Scope;
use std::collections::HashMap;
use std::sync::LazyLock;

use Scope::{Admin, Door, Money, Read, Sell, Stock};

/// What a path asks for by one method.
pub(super) type Row = (&'static str, &'static str, Scope);

/// Of these a key needs one to be told who buys, besides the scope of whatever path it asks.
pub(super) const BUYERS: [Scope; 2] = [Sell, Money];

/// Every operation that needs a key.
pub(super) const TABLE: &[Row] = &[
    ("GET", "/api/v1/admin/actions", Admin),
    ("GET", "/api/v1/admin/actions.csv", Admin),
    ("GET", "/api/v1/admin/bookings", Read),
    ("GET", "/api/v1/admin/bookings.csv", Money),
    ("POST", "/api/v1/admin/bookings/search", Read),
    ("POST", "/api/v1/admin/bookings/search.csv", Money),
    ("PUT", "/api/v1/admin/bookings/{booking}/buyer", Money),
    ("POST", "/api/v1/admin/bookings/{booking}/mail", Money),
    ("GET", "/api/v1/admin/bookkeeping.jsonl", Money),
    ("POST", "/api/v1/admin/buyers/erase", Admin),
    ("POST", "/api/v1/admin/buyers/export", Admin),
    ("GET", "/api/v1/admin/desk", Read),
    ("POST", "/api/v1/admin/desk/{entry}/settle", Money),
    ("GET", "/api/v1/admin/event-defaults", Read),
    ("POST", "/api/v1/admin/events", Sell),
    ("PATCH", "/api/v1/admin/events/{event}", Sell),
    ("POST", "/api/v1/admin/events/{event}/allot", Stock),
    ("POST", "/api/v1/admin/events/{event}/archive", Admin),
    ("DELETE", "/api/v1/admin/events/{event}/archive", Admin),
    ("GET", "/api/v1/admin/events/{event}/bans", Read),
    ("POST", "/api/v1/admin/events/{event}/block", Stock),
    ("POST", "/api/v1/admin/events/{event}/bookings/{booking}/cancel", Money),
    ("POST", "/api/v1/admin/events/{event}/bookings/{booking}/confirm", Sell),
    ("GET", "/api/v1/admin/events/{event}/channels", Read),
    ("PUT", "/api/v1/admin/events/{event}/channels/{channel}", Stock),
    ("POST", "/api/v1/admin/events/{event}/channels/{channel}/release", Stock),
    ("POST", "/api/v1/admin/events/{event}/close", Sell),
    ("GET", "/api/v1/admin/events/{event}/live", Read),
    ("POST", "/api/v1/admin/events/{event}/open", Sell),
    ("POST", "/api/v1/admin/events/{event}/pause", Sell),
    ("POST", "/api/v1/admin/events/{event}/pools", Stock),
    ("GET", "/api/v1/admin/events/{event}/pools/{pool}", Read),
    ("PUT", "/api/v1/admin/events/{event}/pools/{pool}/capacity", Stock),
    ("POST", "/api/v1/admin/events/{event}/pools/{pool}/claimed", Stock),
    ("POST", "/api/v1/admin/events/{event}/prequeue", Sell),
    ("POST", "/api/v1/admin/events/{event}/prequeue/close", Sell),
    ("GET", "/api/v1/admin/events/{event}/prices", Read),
    ("PUT", "/api/v1/admin/events/{event}/prices", Sell),
    ("POST", "/api/v1/admin/events/{event}/resume", Sell),
    ("PATCH", "/api/v1/admin/events/{event}/room", Sell),
    ("PUT", "/api/v1/admin/events/{event}/seat-map", Stock),
    ("GET", "/api/v1/admin/events/{event}/seats", Read),
    ("GET", "/api/v1/admin/events/{event}/seats/{seat}", Read),
    ("PUT", "/api/v1/admin/events/{event}/texts/{language}", Sell),
    ("GET", "/api/v1/admin/events/{event}/types", Read),
    ("PUT", "/api/v1/admin/events/{event}/types", Sell),
    ("POST", "/api/v1/admin/events/{event}/unblock", Stock),
    ("POST", "/api/v1/admin/events/{event}/visitors/{user}/bookings", Sell),
    ("POST", "/api/v1/admin/events/{event}/visitors/{user}/remove", Sell),
    ("POST", "/api/v1/admin/events/{event}/visitors/{user}/unban", Sell),
    ("GET", "/api/v1/admin/feed", Read),
    ("GET", "/api/v1/admin/flags", Read),
    ("PUT", "/api/v1/admin/flags/{flag}", Admin),
    ("GET", "/api/v1/admin/gateway", Read),
    ("GET", "/api/v1/admin/inventory-status", Read),
    ("GET", "/api/v1/admin/keys", Admin),
    ("GET", "/api/v1/admin/messages/dead", Admin),
    ("POST", "/api/v1/admin/messages/replay", Admin),
    ("GET", "/api/v1/admin/payments", Read),
    ("GET", "/api/v1/admin/receipts", Money),
    ("GET", "/api/v1/admin/receipts.csv", Money),
    ("GET", "/api/v1/admin/receipts/{file}", Money),
    ("GET", "/api/v1/admin/refunds", Read),
    ("GET", "/api/v1/admin/sagas", Read),
    ("GET", "/api/v1/admin/sagas/{booking}", Read),
    ("POST", "/api/v1/admin/sagas/{booking}/refund", Money),
    ("POST", "/api/v1/admin/sagas/{booking}/release", Money),
    ("POST", "/api/v1/admin/sagas/{booking}/retry", Money),
    ("GET", "/api/v1/admin/sessions", Admin),
    ("DELETE", "/api/v1/admin/sessions", Admin),
    ("DELETE", "/api/v1/admin/sessions/{session}", Admin),
    ("POST", "/api/v1/admin/sync-inventory", Stock),
    ("POST", "/api/v1/check-in", Door),
    ("GET", "/api/v1/events/{event}/revoked-tickets", Door),
];

/// The scope that a request to a path needs; `None` if it needs no key.
pub(super) fn needed(method: &Method, path: &str) -> Option<Scope> {
    static BY_PATH: LazyLock<HashMap<&str, Vec<(&str, Scope)>>> = LazyLock::new(|| {
        let mut by_path = HashMap::<_, Vec<_>>::with_capacity(TABLE.len());
        for &(method, path, scope) in TABLE {
            by_path.entry(path).or_default().push((method, scope));
        }
        by_path
    });
    let of_path = BY_PATH.get(path)?;
    // What is read can be asked for without its body.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    of_path.iter().find(|(of, _)| *of == method).map(|(_, scope)| *scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_without_its_body_needs_the_same_scope() {
        for &(method, path, scope) in TABLE {
            let of = |method: &Method| needed(method, path);
            assert_eq!(of(&method.parse().unwrap()), Some(scope), "{method} {path}");
            let reads = TABLE.iter().any(|row| (row.0, row.1) == ("GET", path));
            assert_eq!(of(&Method::HEAD).is_some(), reads, "{path}");
        }
        assert_eq!(needed(&Method::GET, "/api/v1/events/{event}"), None);
        assert_eq!(needed(&Method::PUT, "/api/v1/admin/feed"), None);
    }
}

//! What an engine refuses to begin with.

use crate::stage::{MemoryArchive, options};
use onrush_store::redis::{OpenError, RedisEngine};
use onrush_testkit::{Redis, need};

#[tokio::test]
async fn a_redis_that_would_throw_holds_away_is_refused_with_a_sentence() {
    let Some(redis) = need(Redis::start()) else { return };
    redis.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).expect("Redis answers");
    let refused = RedisEngine::open(options(&redis, MemoryArchive::new())).await.err();
    assert_eq!(refused, Some(OpenError::Evicts { policy: "allkeys-lru".to_owned() }));
    let sentence = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(sentence.contains("set maxmemory-policy to noeviction"), "{sentence}");
}

#[tokio::test]
async fn a_redis_that_is_not_there_is_refused_with_its_reason() {
    let Some(mut redis) = need(Redis::start()) else { return };
    redis.kill();
    let refused = RedisEngine::open(options(&redis, MemoryArchive::new())).await.err();
    assert!(matches!(refused, Some(OpenError::Redis(_))), "{refused:?}");
}

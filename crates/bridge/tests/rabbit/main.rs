//! Wake-ups over a real RabbitMQ: bodies and delays, publishers that compete, servers and
//! connections that break.

mod bodies;
mod delays;
mod encrypted;
mod observer;
mod outages;
mod publishers;
mod stage;
mod stale;

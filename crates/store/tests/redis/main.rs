//! The engine on Redis from outside: what it promises on a real server, with one node and with several.

mod archived;
mod archiving;
mod audit;
mod cluster;
mod copies;
mod counts;
mod deadlines;
mod draws;
mod encrypted;
mod failover;
mod flags;
mod functions;
mod loss;
mod money;
mod only_copy;
mod optimistic;
mod outage;
mod rebuild;
mod repeats;
mod sale;
mod seats;
mod sentinel;
mod stage;
mod start;
mod visitors;
mod world;

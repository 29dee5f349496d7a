//! A Redis Cluster of three primaries and three replicas.

use super::{FAILOVER_WITHIN, Kind, Redis, RedisOptions, START_WITHIN};
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::resp::field;
use crate::server::wait_until;

const PRIMARIES: usize = 3;
const SLOTS: u16 = 16_384;

/// How long a replica may be silent before it is given up, and a primary before its replica takes over:
/// a machine that is busy with others makes all of them stand still for a while.
const NODE_TIMEOUT_MS: u32 = 5_000;

/// The same while they get to know each other, and while one that was killed is missed: a test waits
/// for both.
const HASTY_TIMEOUT_MS: u32 = 1_000;

/// Three primaries with one replica each, that take over from one another as Redis Cluster does.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
}

impl RedisCluster {
    /// Starts all six; when this returns every slot is served, every node knows so, and every
    /// replica has caught up.
    ///
    /// # Errors
    ///
    /// If Redis is not installed, or does not start.
    pub fn start() -> Result<Self, NotStarted> {
        Self::start_with(&RedisOptions::default())
    }

    /// Starts all six as the options say. With TLS they speak it with each other too, so that its
    /// certificates must be good for clients of theirs.
    ///
    /// # Errors
    ///
    /// If Redis is not installed, or does not start.
    pub fn start_with(options: &RedisOptions) -> Result<Self, NotStarted> {
        // Only then do clients that speak TLS hear of the ports for it.
        let tls = match options.tls {
            Some(_) => "tls-cluster yes\ntls-replication yes",
            None => "",
        };
        let more = |_| {
            format!(
                "cluster-enabled yes\ncluster-port {}\ncluster-node-timeout {NODE_TIMEOUT_MS}\n\
                 cluster-replica-validity-factor 0\nrepl-diskless-sync-delay 0\n{tls}",
                free_port()
            )
        };
        let node = |_| Redis::start_as(options, Kind::Server, more);
        let cluster = Self { nodes: (0..2 * PRIMARIES).map(node).collect::<Result<_, _>>()? };
        cluster.form(options.tls.is_some())?;
        Ok(cluster)
    }

    fn form(&self, is_tls: bool) -> Result<(), NotStarted> {
        let say = |node: &Redis, parts: &[&str]| {
            node.command(parts).map_err(|error| node.server.failure(error))
        };
        // Half of it is how often they ask each other for news.
        self.set_node_timeout(HASTY_TIMEOUT_MS);
        let first = &self.nodes[0];
        let share = SLOTS / PRIMARIES as u16 + 1;
        for (n, node) in self.nodes.iter().enumerate() {
            // Distinct, so that no two nodes have to agree on who is newer.
            say(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()])?;
            if n < PRIMARIES {
                let from = share * n as u16;
                let to = (from + share).min(SLOTS) - 1;
                say(node, &["CLUSTER", "ADDSLOTSRANGE", &from.to_string(), &to.to_string()])?;
            }
            let port = if is_tls { node.tls_port() } else { node.port() }.to_string();
            let bus = bus_port(node);
            say(first, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        let known = self.nodes.len().to_string();
        self.wait("all nodes know each other", |node| {
            field(&info(node), "cluster_known_nodes") == Some(&known)
        })?;
        for (n, replica) in self.nodes[PRIMARIES..].iter().enumerate() {
            let primary = say(&self.nodes[n], &["CLUSTER", "MYID"])?;
            say(replica, &["CLUSTER", "REPLICATE", &primary])?;
        }
        self.wait_until_whole()?;
        self.set_node_timeout(NODE_TIMEOUT_MS);
        Ok(())
    }

    /// Has all that live give a silent node up after so long.
    fn set_node_timeout(&self, timeout_ms: u32) {
        let timeout_ms = timeout_ms.to_string();
        for node in &self.nodes {
            // A dead one gives nobody up.
            let _ = node.command(&["CONFIG", "SET", "cluster-node-timeout", &timeout_ms]);
        }
    }

    /// The nodes' addresses as URLs, `redis://127.0.0.1:<port>`.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Redis::url).collect()
    }

    /// The nodes' addresses with TLS, if they were started with it.
    #[must_use]
    pub fn tls_urls(&self) -> Vec<String> {
        self.nodes.iter().map(Redis::tls_url).collect()
    }

    /// The nodes, dead ones too.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The same nodes, to be killed, paused or started again.
    pub fn nodes_mut(&mut self) -> &mut [Redis] {
        &mut self.nodes
    }

    /// Which of [`RedisCluster::nodes`] is the primary of the key's slot now.
    ///
    /// # Errors
    ///
    /// If no living node knows.
    pub fn primary_of(&self, key: &str) -> Result<usize, NotStarted> {
        self.nodes
            .iter()
            .position(|node| self.serves(node, key))
            .ok_or_else(|| NotStarted::failed("Redis Cluster", format!("nobody serves {key}")))
    }

    fn serves(&self, node: &Redis, key: &str) -> bool {
        let role = field(&node.info("replication"), "role").map(str::to_owned);
        // Anybody but the slot's primary answers MOVED.
        role.as_deref() == Some("master") && node.command(&["EXISTS", key]).is_ok()
    }

    /// The places of a primary's replicas in [`RedisCluster::nodes`].
    ///
    /// # Errors
    ///
    /// If it does not answer.
    pub fn replicas_of(&self, primary: usize) -> Result<Vec<usize>, NotStarted> {
        let primary = &self.nodes[primary];
        let id = primary.command(&["CLUSTER", "MYID"]);
        let id = id.map_err(|error| primary.server.failure(error))?;
        let is_replica = |node: &Redis| {
            let told = node.command(&["CLUSTER", "NODES"]).unwrap_or_default();
            told.lines().any(|line| line.contains("myself,slave") && line.contains(&id))
        };
        let found = self.nodes.iter().enumerate().filter(|(_, node)| is_replica(node));
        Ok(found.map(|(place, _)| place).collect())
    }

    /// Kills the primary of the key's slot with SIGKILL; returns its place in [`RedisCluster::nodes`].
    /// It is missed soon. From then on others are given up as soon, until
    /// [`RedisCluster::wait_for_failover`] has come back.
    ///
    /// # Errors
    ///
    /// If no living node knows who it is.
    pub fn kill_primary_of(&mut self, key: &str) -> Result<usize, NotStarted> {
        let primary = self.primary_of(key)?;
        self.nodes[primary].kill();
        self.set_node_timeout(HASTY_TIMEOUT_MS);
        Ok(primary)
    }

    /// Waits until another node serves the key's slot and all living nodes agree that the cluster
    /// works; returns its place.
    ///
    /// # Errors
    ///
    /// If nobody takes over.
    pub fn wait_for_failover(&self, key: &str) -> Result<usize, NotStarted> {
        let living: Vec<_> =
            self.nodes.iter().filter(|node| node.command(&["PING"]).is_ok()).collect();
        wait_until("another node takes over", FAILOVER_WITHIN, || {
            living.iter().any(|node| self.serves(node, key))
                && living.iter().all(|node| field(&info(node), "cluster_state") == Some("ok"))
        })?;
        self.set_node_timeout(NODE_TIMEOUT_MS);
        self.primary_of(key)
    }

    /// Waits until all nodes live, agree that every slot is served, and every replica has all that
    /// was written so far.
    ///
    /// # Errors
    ///
    /// If that does not come.
    pub fn wait_until_whole(&self) -> Result<(), NotStarted> {
        self.wait("every slot is served", |node| {
            let info = info(node);
            field(&info, "cluster_state") == Some("ok")
                && field(&info, "cluster_size") == Some(&PRIMARIES.to_string())
        })?;
        self.wait("every replica is in sync", |node| {
            let info = node.info("replication");
            match field(&info, "role") {
                Some("master") => {
                    let replica = field(&info, "slave0").unwrap_or_default();
                    let offset = field(&info, "master_repl_offset").unwrap_or("unknown");
                    replica.contains("state=online")
                        && replica.contains(&format!("offset={offset},"))
                }
                Some(_) => field(&info, "master_link_status") == Some("up"),
                None => false,
            }
        })
    }

    fn wait(&self, what: &str, holds: impl Fn(&Redis) -> bool) -> Result<(), NotStarted> {
        for node in &self.nodes {
            wait_until(what, START_WITHIN, || holds(node))
                .map_err(|error| node.server.failure(error))?;
        }
        Ok(())
    }
}

fn info(node: &Redis) -> String {
    node.command(&["CLUSTER", "INFO"]).unwrap_or_default()
}

fn bus_port(node: &Redis) -> String {
    let answer = node.command(&["CONFIG", "GET", "cluster-port"]).unwrap_or_default();
    answer.lines().nth(1).unwrap_or_default().to_owned()
}

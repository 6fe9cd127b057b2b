//! What a gateway adds: the same requests directly, through nginx as a plain reverse proxy, and through `plimsoll serve`,
//! in one run, in turns.
//!
//! ```text
//! cargo run --release --package plimsoll-benches --bin gateway -- target/release/plimsoll [ROUNDS] [REQUESTS]
//! ```
//! The upstream is scripted and runs here, a thread a connection; the client writes and reads plain sockets. Latency is
//! the median of the best round at one connection, less the direct one's; CPU is of the proxy's processes.

use std::io::{BufRead as _, BufReader, Stdout, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_benches::socket::{Fault, Message, scripted};

/// Sizes of bodies, in bytes.
const SIZES: [usize; 3] = [10_000, 200_000, 1_000_000];
fn main() -> Result<(), Fault> {
    let mut arguments = std::env::args().skip(1);
    let plimsoll = PathBuf::from(arguments.next().ok_or("give the path of the plimsoll binary")?);
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let requests: usize = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let upstream = scripted()?;
    let folder = std::env::temp_dir().join(format!("plimsoll-gateway-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut targets = vec![Target { name: "direct", address: upstream, child: None }];
    targets.extend(nginx(&folder, upstream).ok());
    targets.push(serve("passthrough", &plimsoll, &folder, upstream, &["--passthrough"])?);
    targets.push(serve("kept", &plimsoll, &folder, upstream, &["--window", "100M"])?);
    let mut out = std::io::stdout();
    writeln!(out, "load {}", std::fs::read_to_string("/proc/loadavg")?.trim())?;
    for size in SIZES {
        for stream in [false, true] {
            one_connection(&mut out, &targets, size, stream, rounds, requests)?;
        }
    }
    for connections in [8, 32] {
        for size in SIZES {
            throughput(&mut out, &targets, size, connections, requests)?;
        }
    }
    idle(&mut out, &targets)?;
    writeln!(out, "load {}", std::fs::read_to_string("/proc/loadavg")?.trim())?;
    drop(targets);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Something that answers.
struct Target {
    name: &'static str,
    address: SocketAddr,
    child: Option<Child>,
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It is over either way.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Target {
    /// CPU time of its processes, and their resident memory in KiB.
    fn used(&self) -> (Duration, u64) {
        let Some(child) = &self.child else { return Default::default() };
        let (mut ticks, mut memory) = (0, 0);
        for id in family(child.id()) {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            ticks += field(11) + field(12);
            memory += field(21) * 4;
        }
        (Duration::from_millis(ticks * 10), memory)
    }
}

/// A process and its children.
fn family(id: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    std::iter::once(id).chain(children.split_whitespace().filter_map(|text| text.parse().ok())).collect()
}

fn serve(
    name: &'static str,
    plimsoll: &Path,
    folder: &Path,
    upstream: SocketAddr,
    more: &[&str],
) -> Result<Target, Fault> {
    let mut child = Command::new(plimsoll)
        .args(["serve", "--listen", "127.0.0.1:0", "--upstream", &format!("anthropic=http://{upstream}")])
        .args(more)
        .env("PLIMSOLL_STORE", folder.join(name))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let address = line.trim().rsplit('/').next().ok_or("no address")?.parse()?;
    Ok(Target { name, address, child: Some(child) })
}

fn nginx(folder: &Path, upstream: SocketAddr) -> Result<Target, Fault> {
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let at = folder.display();
    let conf = format!(
        "worker_processes 1; daemon off; master_process off; pid {at}/pid; error_log {at}/error.log; events {{ worker_connections 512; }}
         http {{ access_log off; client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f;
         uwsgi_temp_path {at}/u; scgi_temp_path {at}/s; client_max_body_size 64m; client_body_buffer_size 2m;
         keepalive_requests 1000000; tcp_nodelay on;
         upstream model {{ server {upstream}; keepalive 64; keepalive_requests 1000000; }}
         server {{ listen {free}; location / {{ proxy_pass http://model; proxy_http_version 1.1; proxy_buffering off;
         proxy_set_header Connection ''; proxy_set_header Host $host; }} }} }}"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, conf)?;
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
    let child = Command::new(program.ok_or("no nginx")?)
        .arg("-c")
        .arg(&file)
        .arg("-p")
        .arg(folder)
        .stderr(Stdio::null())
        .spawn()?;
    let target = Target { name: "nginx", address: free, child: Some(child) };
    for _ in 0..100 {
        if TcpStream::connect(free).is_ok() {
            return Ok(target);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("nginx does not listen".into())
}

/// A client's connection.
struct Client {
    writer: TcpStream,
    reader: Message,
    before: String,
    after: String,
    session: String,
    stream: bool,
    count: usize,
}

impl Client {
    /// `which` tells the conversations of several connections apart.
    fn connect(address: SocketAddr, size: usize, stream: bool, which: usize) -> Result<Self, Fault> {
        let writer = TcpStream::connect(address)?;
        writer.set_nodelay(true)?;
        let (before, after) = body(size, which)?;
        let reader = Message::new(writer.try_clone()?);
        Ok(Self { writer, reader, before, after, session: format!("bench-{size}-{which}"), stream, count: 0 })
    }

    /// One request of a conversation that has grown by a turn: how long until the first byte of its answer's body, and
    /// to its end.
    fn ask(&mut self) -> Result<(Duration, Duration), Fault> {
        self.count += 1;
        let last = format!("{:08}", self.count);
        let length = self.before.len() + last.len() + self.after.len();
        let mut request = Vec::with_capacity(length + 400);
        let stream = u8::from(self.stream);
        let session = &self.session;
        write!(
            request,
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n\
             x-plimsoll-session: {session}\r\nx-stream: {stream}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{}{last}{}",
            self.before, self.after
        )?;
        let began = Instant::now();
        self.writer.write_all(&request)?;
        let (head, first, _) = self.reader.next_timed(began)?;
        if !head.starts_with("http/1.1 200 ") {
            return Err(format!("not answered well: {head}").into());
        }
        let whole = began.elapsed();
        // The conversation grows, as conversations do.
        self.before.push_str(&last);
        self.before.push_str(r#""},{"role":"assistant","content":"Done."},{"role":"user","content":"go on with "#);
        Ok((first, whole))
    }
}

/// A body like an agent's, of about this size, around the text of its last message.
fn body(size: usize, which: usize) -> Result<(String, String), Fault> {
    let mut text = String::from_utf8(plimsoll_benches::body::anthropic(size.saturating_sub(10_000)))?;
    text.truncate(text.len() - 2);
    text.push_str(&format!(
        r#",{{"role":"assistant","content":"Done."}},{{"role":"user","content":"{which}: go on with "#
    ));
    Ok((text, "\"}]}".to_owned()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn one_connection(
    out: &mut Stdout,
    targets: &[Target],
    size: usize,
    stream: bool,
    rounds: usize,
    requests: usize,
) -> Result<(), Fault> {
    let mut clients = Vec::new();
    for target in targets {
        let mut client = Client::connect(target.address, size, stream, usize::from(stream))?;
        (0..5).try_for_each(|_| client.ask().map(drop))?;
        clients.push((target, client, Duration::MAX, Duration::MAX, Duration::ZERO));
    }
    for _ in 0..rounds {
        for (target, client, first, whole, cpu) in &mut clients {
            let before = target.used().0;
            let times: Vec<(Duration, Duration)> = (0..requests).map(|_| client.ask()).collect::<Result<_, _>>()?;
            *cpu += target.used().0.saturating_sub(before);
            *first = median(times.iter().map(|(first, _)| *first).collect()).min(*first);
            *whole = median(times.iter().map(|(_, whole)| *whole).collect()).min(*whole);
        }
    }
    let direct = clients.first().map_or((Duration::ZERO, Duration::ZERO), |(_, _, first, whole, _)| (*first, *whole));
    for (target, _, first, whole, cpu) in &clients {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let per_thousand = ms(*cpu) / (rounds * requests) as f64;
        writeln!(
            out,
            "{size:>8} B {} {:<12} whole {:7.3} ms, first {:7.3} ms; added {:7.3} and {:7.3} ms; CPU {per_thousand:6.3} s per 1000",
            if stream { "streamed" } else { "at once " },
            target.name,
            ms(*whole),
            ms(*first),
            ms(*whole) - ms(direct.1),
            ms(*first) - ms(direct.0),
        )?;
    }
    Ok(())
}

fn throughput(
    out: &mut Stdout,
    targets: &[Target],
    size: usize,
    connections: usize,
    requests: usize,
) -> Result<(), Fault> {
    for target in targets {
        let each = (requests * 4 / connections).max(5);
        let began = Instant::now();
        let threads: Vec<_> = (0..connections)
            .map(|which| {
                let address = target.address;
                std::thread::spawn(move || -> Result<(), Fault> {
                    let mut client = Client::connect(address, size, false, 100 + which)?;
                    (0..each).try_for_each(|_| client.ask().map(drop))
                })
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a client failed")??;
        }
        let rate = (each * connections) as f64 / began.elapsed().as_secs_f64();
        let memory = target.used().1;
        writeln!(
            out,
            "{size:>8} B x {connections:>2} {:<12} {rate:9.0} requests/s; {memory} KiB resident",
            target.name
        )?;
    }
    Ok(())
}

/// What a connection costs that is only kept.
fn idle(out: &mut Stdout, targets: &[Target]) -> Result<(), Fault> {
    const MANY: usize = 400;
    for target in targets.iter().filter(|target| target.child.is_some()) {
        let before = target.used().1;
        let mut clients = Vec::new();
        for _ in 0..MANY {
            let mut client = Client::connect(target.address, 10_000, false, 0)?;
            client.ask()?;
            clients.push(client);
        }
        std::thread::sleep(Duration::from_millis(300));
        let grown = target.used().1.saturating_sub(before) as f64 / MANY as f64;
        writeln!(out, "idle connection {:<12} {grown:6.1} KiB", target.name)?;
    }
    Ok(())
}

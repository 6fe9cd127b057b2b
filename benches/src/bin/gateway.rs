//! What a gateway adds: the same requests directly, through nginx as a plain reverse proxy, and through `plimsoll serve`,
//! in one run, in turns.
//!
//! ```text
//! cargo run --release --package plimsoll-benches --bin gateway -- target/release/plimsoll [ROUNDS] [REQUESTS]
//! ```
//! The upstream is scripted and runs here, a thread a connection; the client writes and reads plain sockets. Latency is
//! the median of the best round at one connection, less the direct one's; CPU is of the proxy's processes.

use std::io::{BufRead as _, BufReader, Read as _, Stdout, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Sizes of bodies, in bytes.
const SIZES: [usize; 3] = [10_000, 200_000, 1_000_000];
/// Events of a streamed answer.
const EVENTS: usize = 20;

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
        "worker_processes 1; daemon off; pid {at}/pid; error_log {at}/error.log; events {{ worker_connections 512; }}
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

/// The scripted upstream.
fn scripted() -> Result<SocketAddr, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that fails is over.
            std::thread::spawn(move || drop(answer_all(stream)));
        }
    });
    Ok(address)
}

fn answer_all(mut stream: TcpStream) -> Result<(), Fault> {
    stream.set_nodelay(true)?;
    let mut reader = Message::new(stream.try_clone()?);
    let whole = format!(
        "{{\"type\":\"message\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}],\"stop_reason\":\"end_turn\",\
         \"usage\":{{\"input_tokens\":0,\"output_tokens\":9}}}}",
        "word ".repeat(300)
    );
    loop {
        let (head, body) = reader.next()?;
        if body == 0 && head.is_empty() {
            return Ok(());
        }
        if head.contains("x-stream: 1") {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
            )?;
            for n in 0..EVENTS {
                let event = format!(
                    "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":\
                     {{\"type\":\"text_delta\",\"text\":\"word {n}\"}}}}\n\n"
                );
                stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        } else {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
            stream.write_all(format!("{head}{}\r\n\r\n{whole}", whole.len()).as_bytes())?;
        }
    }
}

/// Reads messages of HTTP/1.1 from a connection.
struct Message {
    stream: TcpStream,
    held: Vec<u8>,
}

impl Message {
    fn new(stream: TcpStream) -> Self {
        Self { stream, held: Vec::with_capacity(1 << 16) }
    }

    fn more(&mut self) -> Result<usize, Fault> {
        let mut buffer = [0; 1 << 16];
        let read = self.stream.read(&mut buffer)?;
        self.held.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }

    /// The head in lower case, and the size of the body. Nothing at the end of the connection.
    fn next(&mut self) -> Result<(String, usize), Fault> {
        let (head, _, body) = self.next_timed(Instant::now())?;
        Ok((head, body))
    }

    /// The same, and when the first byte after the head was there.
    fn next_timed(&mut self, began: Instant) -> Result<(String, Duration, usize), Fault> {
        let end = loop {
            if let Some(end) = find(&self.held, b"\r\n\r\n") {
                break end + 4;
            }
            if self.more()? == 0 {
                return Ok(Default::default());
            }
        };
        let head = String::from_utf8_lossy(self.held.get(..end).unwrap_or_default()).to_ascii_lowercase();
        self.held.drain(..end);
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let chunked = head.contains("transfer-encoding: chunked");
        if self.held.is_empty() && (chunked || length.is_some_and(|length| length > 0)) {
            self.more()?;
        }
        let first = began.elapsed();
        let mut body = length.unwrap_or(0);
        if chunked {
            loop {
                // No event holds this.
                if let Some(end) = find(&self.held, b"0\r\n\r\n") {
                    body = end;
                    self.held.drain(..end + 5);
                    break;
                }
                if self.more()? == 0 {
                    return Err("it was cut".into());
                }
            }
        } else {
            while self.held.len() < body {
                if self.more()? == 0 {
                    return Err("it was cut".into());
                }
            }
            self.held.drain(..body);
        }
        Ok((head, first, body))
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
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

    /// One request of a conversation whose last message is new: how long until the first byte of its answer's body, and
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
        Ok((first, began.elapsed()))
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

//! Forms of values that state a size, a speed or an age and do not identify an owner: a value in
//! none of these forms is not published.

/// A longer number is none.
const LONGEST: usize = 24;

/// `128MB`, `-1`, `0.9`, `16384 8kB`: a number with its unit; neither an address nor a word.
pub fn is_number(value: &str) -> bool {
    const UNITS: [&str; 17] = [
        "", "B", "kB", "8kB", "K", "MB", "M", "GB", "G", "TB", "us", "ms", "s", "min", "h", "d",
        "%",
    ];
    let digits = value.trim_start_matches('-');
    let unit =
        digits.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.matches('.').count() <= 1
        && UNITS.contains(&unit.trim_start())
        && value.len() <= LONGEST
}

/// `p99<5ms`.
pub fn is_slo(value: &str) -> bool {
    let limit = value.split_once('<').filter(|(percentile, _)| {
        percentile.strip_prefix('p').is_some_and(|rank| !rank.is_empty() && is_number(rank))
    });
    limit.is_some_and(|(_, limit)| is_number(limit))
}

/// A day or a moment as RFC 3339 has it, or a year.
pub fn is_time(value: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd";
    let (start, rest) = value.split_at(value.len().min(pattern.len()));
    let fits = start.chars().zip(pattern.chars()).all(|(letter, form)| match form {
        'd' => letter.is_ascii_digit(),
        form => letter == form,
    });
    let (fraction, zone) = rest.split_at(rest.len() - usize::from(rest.ends_with('Z')));
    let is_fraction = fraction.is_empty()
        || fraction.strip_prefix('.').is_some_and(|digits| {
            digits.len() <= 9 && digits.bytes().all(|digit| digit.is_ascii_digit())
        });
    fits && is_fraction && matches!((start.len(), zone), (19, "Z") | (4 | 7 | 10, ""))
}

/// A hash: hexadecimal digits, as many as ours have.
pub fn is_hash(value: &str) -> bool {
    (8..=64).contains(&value.len())
        && value.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// `run=2 test=1`.
pub fn is_place(value: &str) -> bool {
    value.split(' ').all(|part| {
        part.split_once('=').is_some_and(|(name, number)| {
            ["run", "test"].contains(&name)
                && !number.is_empty()
                && number.bytes().all(|digit| digit.is_ascii_digit())
        })
    })
}

/// The first three numbers of a version, `6.1.0` of `6.1.0-18-amd64`. Four numbers are an IPv4
/// address; of five, as Oracle has them, three are published.
pub fn release(text: &str) -> Option<String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (numbers, rest) = text.split_at(end.unwrap_or(text.len()));
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_plain = parts.iter().all(|part| (1..=5).contains(&part.len()));
    let ends = rest.is_empty() || rest.starts_with(['-', '+']);
    (is_plain && ends && parts.len() != 4 && parts.len() <= 5)
        .then(|| parts[..parts.len().min(3)].join("."))
}

/// Products that say their version, with the words of their names.
const PRODUCTS: &str = "PostgreSQL MariaDB MySQL Percona Server SQLite DuckDB ClickHouse chDB \
                        Oracle Database PgBouncer AI Free Express Enterprise Standard Edition \
                        Release Community Debian GNU/Linux Ubuntu LTS Red Hat Linux Rocky \
                        AlmaLinux CentOS Stream Fedora SUSE SLES openSUSE Leap Tumbleweed Amazon \
                        Alpine Arch Gentoo NixOS RHEL macOS FreeBSD Windows";

/// Product and version: `PostgreSQL 15.18` of `PostgreSQL 15.18 (Debian 15.18-0+deb12u1)`. Words
/// that no product has, and all that stands behind a version, are left out.
pub fn version(text: &str) -> Option<String> {
    let mut told = Vec::new();
    for token in text.split_whitespace() {
        let word = token.trim_matches(['(', ')']);
        if PRODUCTS.split_whitespace().any(|known| known == word) {
            told.push(token.to_string());
        } else if token.starts_with(|first: char| first.is_ascii_digit()) {
            let is_by_month = told.iter().any(|word| word == BY_MONTH);
            told.push(if is_by_month { month(token)? } else { release(token)? });
            break;
        }
    }
    (!told.is_empty()).then(|| told.join(" "))
}

/// The product whose versions begin with year and month, and have four numbers as an address has.
const BY_MONTH: &str = "ClickHouse";

/// Year and month of such a version, `26.7` of `26.7.2.1`, without the numbers behind them.
fn month(text: &str) -> Option<String> {
    let (year, month) = text.split_once('.')?;
    let month = month.split('.').next()?;
    let is_number = |text: &str, least: u8, most: u8| {
        text.parse::<u8>().is_ok_and(|number| (least..=most).contains(&number))
    };
    (is_number(year, 18, 99) && is_number(month, 1, 12)).then(|| format!("{year}.{month}"))
}

/// Makers and families of processors, and the words beside them.
const PROCESSORS: &str = "Intel AMD ARM Arm Apple IBM Ampere Altra Amazon Graviton Oracle SPARC \
                          Huawei Kunpeng Hygon Zhaoxin Loongson Fujitsu Cavium ThunderX Marvell \
                          Qualcomm NVIDIA Grace Xeon Core Pentium Celeron Atom Opteron EPYC Ryzen \
                          Threadripper PRO Athlon POWER Power Neoverse Cortex Platinum Gold Silver \
                          Bronze Max Ultra Processor processor CPU Virtual KVM QEMU Common Genuine \
                          Dual-Core Quad-Core Skylake Cascadelake Icelake Broadwell Haswell \
                          SandyBridge IvyBridge Nehalem Westmere SapphireRapids GraniteRapids \
                          EPYC-Rome EPYC-Milan EPYC-Genoa EPYC-Turin EPYC-Naples IBRS Server \
                          Client Mobile with Radeon Graphics Gen th";

/// A processor's model in words that makers use, and model numbers: `Intel(R) Xeon(R) Platinum
/// 8375C CPU @ 2.90GHz`. Other words are left out; a model without a word of a maker's is none.
pub fn processor(text: &str) -> Option<String> {
    let mut told: Vec<&str> = Vec::new();
    let mut is_named = false;
    for token in text.split_whitespace() {
        let bare = token.trim_matches(['(', ')', ',']);
        let bare = bare.trim_end_matches("(R").trim_end_matches("(TM").trim_end_matches("(tm");
        let family = bare.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let is_word = |word: &str| PROCESSORS.split_whitespace().any(|known| known == word);
        if is_word(bare) || bare.len() - family.len() <= 2 && is_word(family) {
            is_named = true;
            told.push(token);
        } else if is_named && (is_model_number(bare) || is_clock(bare)) {
            told.push(token);
        }
    }
    is_named.then(|| told.join(" "))
}

/// `8375C`, `E5-2699`, `i7-8700K`, `v4`, `7R32`, `24-Core`: few letters, and digits.
fn is_model_number(token: &str) -> bool {
    let token = token.strip_suffix("-Core").unwrap_or(token);
    let parts: Vec<&str> = token.split('-').collect();
    let is_part = |part: &&str| {
        let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        letters <= 2 && (1..=5).contains(&digits) && letters + digits == part.len()
    };
    parts.len() <= 2 && parts.iter().all(is_part)
}

/// `2.90GHz`.
fn is_clock(token: &str) -> bool {
    token.strip_suffix("GHz").is_some_and(is_number)
}

/// `TLSv1.3 TLS_AES_256_GCM_SHA384`, `off`.
pub fn is_cipher(text: &str) -> bool {
    const WORDS: [&str; 22] = [
        "TLS", "AES", "128", "256", "GCM", "CBC", "CCM", "SHA", "SHA1", "SHA256", "SHA384",
        "CHACHA20", "POLY1305", "ECDHE", "DHE", "RSA", "ECDSA", "TLSv1.2", "TLSv1.3", "off", "on",
        "AES256",
    ];
    let mut words = text.split([' ', '_', '-']);
    words.all(|word| WORDS.contains(&word) || word == "AES128")
}

/// True if the text has the form of what leads to somebody: four dotted numbers, an IPv6 address,
/// an address of mail, a path, a URL. It is refused even where its words may be published.
pub fn is_address(text: &str) -> bool {
    let text = text.replace("GNU/Linux", "Linux").replace("MB/s", "").replace("GB/s", "");
    let is_part = |token: &str| {
        let dotted: Vec<&str> = token.split('.').collect();
        let is_ipv4 = dotted.windows(4).any(|four| {
            let inner = four[1..3].iter().all(|part| is_digits(part));
            inner
                && four[0].ends_with(|last: char| last.is_ascii_digit())
                && four[3].starts_with(|first: char| first.is_ascii_digit())
        });
        let is_hex = token.bytes().all(|letter| letter.is_ascii_hexdigit() || letter == b':');
        is_ipv4 || is_hex && token.matches(':').count() >= 2
    };
    let separators =
        |letter: char| !letter.is_ascii_alphanumeric() && letter != '.' && letter != ':';
    text.contains("://")
        || text.contains(['\\', '/'])
        || text.replace(" @ ", " ").contains('@')
        || text.split(separators).any(is_part)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_names_are_none() {
        for plain in ["128MB", "-1", "0.9", "80%", "30s", "16384 8kB"] {
            assert!(is_number(plain), "{plain}");
        }
        for name in
            ["/var/lib/x", "db.example", "10.0.0.1", "a b", "me@host", "acme", "1acme", "x:1", ""]
        {
            assert!(!is_number(name), "{name}");
        }
        assert!(is_slo("p99.9<5ms") && !is_slo("pavel<5ms") && !is_slo("p<5"));
    }

    #[test]
    fn times_hashes_and_places_have_one_form() {
        for time in ["2026-03-02T20:15:00Z", "2026-03-02T20:15:00.123Z", "2012", "2012-09-30"] {
            assert!(is_time(time), "{time}");
        }
        for other in
            ["", "10.20.30.40", "2026-03-02T20:15:00", "2026-03-02T20:15:00Zürich", "20121"]
        {
            assert!(!is_time(other), "{other}");
        }
        assert!(is_hash("0123456789abcdef") && !is_hash("wilhelmina") && !is_hash("fd00:12::7"));
        assert!(is_place("run=2 test=1") && !is_place("run=acme") && !is_place("host=1"));
    }

    #[test]
    fn a_version_is_three_numbers_at_most_and_an_address_is_none() {
        let known = [
            ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1)", Some("PostgreSQL 15.18")),
            ("MariaDB 10.11.6-MariaDB-0+deb12u1-log", Some("MariaDB 10.11.6")),
            ("Oracle Database 23.26.0.0.0", Some("Oracle Database 23.26.0")),
            ("Debian GNU/Linux 12 (bookworm)", Some("Debian GNU/Linux 12")),
            ("PostgreSQL 17.2 acme-build", Some("PostgreSQL 17.2")),
            ("PostgreSQL 10.20.30.40", None),
            ("ClickHouse (chDB) 26.7.2.1", Some("ClickHouse (chDB) 26.7")),
            ("ClickHouse 10.20.30.40", None),
            ("acme", None),
        ];
        for (text, told) in known {
            assert_eq!(version(text).as_deref(), told, "{text}");
        }
        assert_eq!(release("6.1.0-18-amd64").as_deref(), Some("6.1.0"));
        for other in ["10.20.30.40", "acme-6.1", "6.1acme", "", "6..1", "1234567.1"] {
            assert_eq!(release(other), None, "{other}");
        }
    }

    #[test]
    fn a_processor_is_told_in_words_of_its_maker() {
        for whole in [
            "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
            "AMD EPYC 7R32",
            "AMD Ryzen 9 5950X 16-Core Processor",
            "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz",
            "Neoverse-N1",
            "POWER9",
        ] {
            let told = processor(whole).unwrap_or_default();
            let expected = whole.replace(" @", "");
            assert!(told == expected || whole == "Neoverse-N1", "{whole}: {told}");
        }
        assert_eq!(processor("AMD EPYC wilhelmina 7R32").as_deref(), Some("AMD EPYC 7R32"));
        for name in ["wilhelmina", "db1", "10.20.30.40", "/srv", "DB7", ""] {
            assert_eq!(processor(name), None, "{name}");
        }
    }

    #[test]
    fn addresses_are_seen_in_any_text() {
        for address in [
            "10.20.30.40",
            "PostgreSQL 10.20.30.40",
            "[fd00:12::7]:5432",
            "fd00:12::7",
            "me@acme",
            "/srv",
            "C:\\data",
            "https://acme",
            "v10.20.30.40",
            "AMD,10.20.30.40",
        ] {
            assert!(is_address(address), "{address}");
        }
        for plain in
            ["PostgreSQL 17.2", "Debian GNU/Linux 12", "CPU @ 2.90GHz", "120 MB/s", "1.2.3"]
        {
            assert!(!is_address(plain), "{plain}");
        }
        assert!(is_cipher("TLSv1.3 TLS_AES_256_GCM_SHA384") && !is_cipher("TLSv1.3 acme"));
    }
}

//! The cloud that a guest runs in, as the guest itself is told: by its firmware (DMI), by what
//! cloud-init wrote down when it started, and by the names of its disks. Nobody is asked over the
//! network.

use super::Fact;

/// Directory of the firmware's strings.
const DMI: &str = "/sys/class/dmi/id";
/// File in which cloud-init stores facts about the instance, without secrets and readable by
/// everybody.
const INSTANCE_DATA: &str = "/run/cloud-init/instance-data.json";

/// A word of the firmware by which a cloud is known.
struct Sign {
    provider: &'static str,
    /// File in [`DMI`].
    file: &'static str,
    /// The begin of its text.
    text: &'static str,
}

const fn sign(provider: &'static str, file: &'static str, text: &'static str) -> Sign {
    Sign { provider, file, text }
}

/// Signs of the providers, from cloud-init's `ds-identify`.
const SIGNS: &[Sign] = &[
    sign("Amazon EC2", "sys_vendor", "Amazon EC2"),
    sign("Amazon EC2", "bios_version", "4.11.amazon"),
    sign("Amazon EC2", "bios_version", "4.2.amazon"),
    sign("Microsoft Azure", "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
    sign("Google Compute Engine", "product_name", "Google Compute Engine"),
    sign("IBM Cloud", "chassis_asset_tag", "ibmcloud"),
    sign("Open Telekom Cloud", "chassis_asset_tag", "OpenTelekomCloud"),
    sign("Alibaba Cloud", "product_name", "Alibaba Cloud ECS"),
    sign("DigitalOcean", "sys_vendor", "DigitalOcean"),
    sign("Hetzner Cloud", "sys_vendor", "Hetzner"),
    sign("Akamai Connected Cloud", "sys_vendor", "Linode"),
    sign("Akamai Connected Cloud", "sys_vendor", "Akamai"),
    sign("Scaleway", "sys_vendor", "Scaleway"),
    sign("UpCloud", "sys_vendor", "UpCloud"),
    sign("Vultr", "sys_vendor", "Vultr"),
    sign("Exoscale", "product_name", "Exoscale"),
    sign("OpenStack", "product_name", "OpenStack Nova"),
    sign("OpenStack", "product_name", "OpenStack Compute"),
];

/// The end of a tag that is a cloud's site, and what of it belongs to the name.
const SITE: &str = "Cloud.com";
const CLOUD: &str = " Cloud";

/// Places in the instance data that name the type, by provider.
const TYPES: [&str; 5] = [
    "/ds/meta_data/instance-type",
    "/ds/meta_data/instance_type",
    "/ds/meta_data/imds/compute/vmSize",
    "/ds/meta_data/shape",
    "/ds/meta_data/instance/instance-type",
];
const REGIONS: [&str; 2] = ["/v1/region", "/ds/meta_data/imds/compute/location"];
const ZONES: [&str; 2] = ["/v1/availability_zone", "/v1/availability-zone"];

/// Storage classes by the model of a disk.
const DISKS: &[(&str, &str)] = &[
    ("Amazon Elastic Block Store", "network disk (Amazon EBS)"),
    ("Amazon EC2 NVMe Instance Storage", "local NVMe of the instance"),
    ("PersistentDisk", "network disk (Google Persistent Disk)"),
    ("nvme_card-pd", "network disk (Google Persistent Disk or Hyperdisk)"),
    ("EphemeralDisk", "local SSD of the instance"),
    ("nvme_card", "local NVMe of the instance"),
    ("MSFT NVMe Accelerator", "network disk (Azure managed disk)"),
    ("Microsoft NVMe Direct Disk", "local NVMe of the instance"),
    ("BlockVolume", "network disk (block volume)"),
];

/// Section `cloud` of the disclosure; nothing where no cloud is known by its signs. `file` reads a
/// file, `model` is that of the disk under the database.
pub(super) fn facts(file: impl Fn(&str) -> Option<String>, model: Option<&str>) -> Vec<Fact> {
    let of_dmi = |name: &str| file(&format!("{DMI}/{name}"));
    let is_seen =
        |sign: &&Sign| of_dmi(sign.file).is_some_and(|text| text.trim().starts_with(sign.text));
    let known = SIGNS.iter().find(is_seen).map(|sign| sign.provider.to_string());
    // Others write the address of their site there.
    let named =
        || Some(of_dmi("chassis_asset_tag")?.trim().strip_suffix(SITE)?.to_string() + CLOUD);
    let Some(provider) = known.or_else(named) else { return Vec::new() };
    let told: serde_json::Value =
        file(INSTANCE_DATA).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let of_instance = |places: &[&str]| {
        let texts = places.iter().filter_map(|place| told.pointer(place)?.as_str());
        texts.map(str::trim).find(|text| !text.is_empty()).map(String::from)
    };
    // The firmware of this cloud names the type as the product.
    let product = || of_dmi("product_name").filter(|name| is_type(name));
    vec![
        ("provider", Some(provider)),
        ("instance_type", of_instance(&TYPES).or_else(product)),
        ("region", of_instance(&REGIONS)),
        ("zone", of_instance(&ZONES)),
        ("disk_class", model.and_then(disk_class)),
    ]
}

/// Storage class that a disk's model names.
fn disk_class(model: &str) -> Option<String> {
    let known = DISKS.iter().find(|(begin, _)| model.trim().starts_with(begin));
    known.map(|(_, class)| (*class).to_string())
}

/// True of a name like `m5.large`: no other product's name is of small letters with a dot.
fn is_type(name: &str) -> bool {
    let is_part = |part: &str| {
        let fits = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-');
        !part.is_empty() && part.bytes().all(fits)
    };
    name.contains('.') && name.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found_facts(files: &[(&str, &str)], model: Option<&str>) -> BTreeMap<&'static str, String> {
        let found = |path: &str| {
            assert!(path.starts_with(DMI) || path == INSTANCE_DATA, "{path}");
            let text = files.iter().find(|(known, _)| path.ends_with(known));
            text.map(|(_, text)| (*text).to_string())
        };
        facts(found, model).into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    #[test]
    fn firmware_and_cloud_init_tell_the_instance() {
        let amazon = found_facts(
            &[("sys_vendor", "Amazon EC2\n"), ("product_name", "m5.large")],
            Some("Amazon Elastic Block Store              "),
        );
        assert_eq!(amazon["provider"], "Amazon EC2");
        assert_eq!(amazon["instance_type"], "m5.large");
        assert_eq!(amazon["disk_class"], "network disk (Amazon EBS)");
        assert!(!amazon.contains_key("region"), "the firmware does not tell it");

        let data = r#"{"v1": {"region": "westeurope", "availability_zone": "2"},
            "ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_D8s_v5"}}}}}"#;
        let azure = found_facts(
            &[
                ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
                ("product_name", "Virtual Machine"),
                ("instance-data.json", data),
            ],
            Some("Virtual Disk"),
        );
        let expected = [
            ("instance_type", "Standard_D8s_v5"),
            ("provider", "Microsoft Azure"),
            ("region", "westeurope"),
            ("zone", "2"),
        ];
        assert_eq!(azure, expected.map(|(name, value)| (name, value.to_string())).into());
    }

    #[test]
    fn what_is_no_cloud_has_no_facts_of_one() {
        let site = found_facts(&[("chassis_asset_tag", "ExampleCloud.com\n")], None);
        assert_eq!(site["provider"], "Example Cloud");
        let own = [("sys_vendor", "Dell Inc."), ("product_name", "PowerEdge R7625")];
        assert!(found_facts(&own, Some("Amazon Elastic Block Store")).is_empty());
        assert!(found_facts(&[("sys_vendor", "QEMU")], None).is_empty());
        assert!(found_facts(&[], None).is_empty());
    }

    #[test]
    fn what_cloud_init_wrote_may_be_anything() {
        for data in ["", "not json", "[]", r#"{"v1": {"region": 7}}"#, r#"{"v1": null}"#] {
            let told =
                found_facts(&[("sys_vendor", "Hetzner"), ("instance-data.json", data)], None);
            assert_eq!(told.len(), 1, "{data}");
        }
        assert!(!is_type("Virtual Machine") && !is_type("vServer") && !is_type("."));
    }
}

# Steps 1 to 5 of docs/install.md in the tree of the machine, before it boots; then what the check itself needs.
# Its own: the changes to the example table (tests/vm/image.py), a test key, and a broker on this machine.
cd /usr/src

# 1. The program
python3 -m venv /opt/feltd
/opt/feltd/bin/pip -q install --no-index --find-links wheels --require-hashes -r feltd-src/requirements.lock
/opt/feltd/bin/pip -q install --no-index --no-deps wheels/feltd-*.whl

# 2. Account, folders, devices, unit
mkdir -p /etc/sysusers.d /etc/tmpfiles.d
install -m 0644 feltd-src/systemd/sysusers.d/feltd.conf /etc/sysusers.d/feltd.conf
install -m 0644 feltd-src/systemd/tmpfiles.d/feltd.conf /etc/tmpfiles.d/feltd.conf
install -m 0644 feltd-src/systemd/udev/60-feltd.rules   /etc/udev/rules.d/60-feltd.rules
install -m 0644 feltd-src/systemd/feltd@.service        /etc/systemd/system/feltd@.service
systemd-sysusers
systemd-tmpfiles --create feltd.conf

# 3. Keys
install -d -m 0700 /etc/feltd/t07
/opt/feltd/bin/feltd keys --test /etc/feltd/t07 >/dev/null
install -m 0600 /dev/null /etc/feltd/t07/broker-password
od -An -tx1 -N16 /dev/urandom | tr -d ' \n' >/etc/feltd/t07/broker-password
install -m 0640 -g feltd /etc/feltd/t07/auditor.pub /etc/feltd/auditor.pub
shred -u /etc/feltd/t07/auditor-key

# 4. Configuration
cp -r feltd-src/config/chips feltd-src/config/decks /etc/feltd/
cp /opt/check/t07.toml /etc/feltd/t07.toml
install -m 0640 -g feltd /opt/check/certificates/ca.crt /etc/feltd/ca.pem
chown -R root:feltd /etc/feltd/*.toml /etc/feltd/chips /etc/feltd/decks
chmod -R u=rwX,g=rX,o= /etc/feltd/*.toml /etc/feltd/chips /etc/feltd/decks

# 5. Start
systemctl -q enable feltd@t07

# ---- the broker: encrypted for the table and the back office, plain on loopback for the rig
install -m 0600 /dev/null /opt/check/office-password
od -An -tx1 -N16 /dev/urandom | tr -d ' \n' >/opt/check/office-password
mosquitto_passwd -c -b /etc/mosquitto/passwords zg1-t07 "$(cat /etc/feltd/t07/broker-password)"
mosquitto_passwd -b /etc/mosquitto/passwords office "$(cat /opt/check/office-password)"
for name in ca.crt broker.crt broker.key; do
    install -o mosquitto -m 0400 "/opt/check/certificates/$name" "/etc/mosquitto/certs/$name"
done
chown mosquitto /etc/mosquitto/passwords
cp /opt/check/tests/vm/guest/broker.conf /etc/mosquitto/conf.d/check.conf

# ---- the check: simulators and back office in an environment of their own
python3 -m venv /opt/rig
/opt/rig/bin/pip -q install --no-index --find-links wheels 'feltd[simulators]'
cp /opt/check/tests/vm/guest/check.service /etc/systemd/system/check.service
mkdir /opt/check/evidence
systemctl -q enable check
systemctl -q set-default multi-user.target
systemctl -q mask apt-daily.timer apt-daily-upgrade.timer
systemd-machine-id-setup >/dev/null 2>&1
echo felt-vm >/etc/hostname
echo '127.0.0.1 localhost felt-vm' >/etc/hosts

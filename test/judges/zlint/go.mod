module certwright/test/judges/zlint

go 1.24.0

tool github.com/zmap/zlint/v3/cmd/zlint

require (
	github.com/pelletier/go-toml v1.9.5 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	github.com/weppos/publicsuffix-go v0.40.3-0.20250127173806-e489a31678ca // indirect
	github.com/zmap/zcrypto v0.0.0-20250129210703-03c45d0bae98 // indirect
	github.com/zmap/zlint/v3 v3.6.6 // indirect
	golang.org/x/crypto v0.36.0 // indirect
	golang.org/x/net v0.38.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)

package sandbox

import "os"

// environment is all that a server sees of ours. The rest could change what it does (LD_PRELOAD, a port) or
// hold secrets.
func environment(home string) []string {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=" + home}
	if tz, ok := os.LookupEnv("TZ"); ok {
		env = append(env, "TZ="+tz)
	}
	return env
}

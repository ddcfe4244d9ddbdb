# Writes the configuration of one HBase: RUN/conf/hbase-site.xml and log4j2.properties. start.sh sources
# it. Everything is on 127.0.0.1 and in RUN; region server and master choose their own ports.
property() { printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

site() { # ZooKeeper port
  local role codec setting
  echo '<?xml version="1.0"?>'
  echo '<configuration>'
  property hbase.rootdir "file://$RUN/data/hbase"
  property hbase.tmp.dir "$RUN/data/tmp"
  property hbase.cluster.distributed false
  property hbase.unsafe.stream.capability.enforce false
  property hbase.zookeeper.quorum 127.0.0.1
  property hbase.zookeeper.property.clientPort "$1"
  property hbase.zookeeper.property.clientPortAddress 127.0.0.1
  property hbase.zookeeper.property.dataDir "$RUN/data/zookeeper"
  property hbase.zookeeper.property.tickTime 1000
  property hbase.zookeeper.property.maxClientCnxns 300
  property hbase.zookeeper.property.maxSessionTimeout 120000
  property zookeeper.session.timeout 60000
  property zookeeper.recovery.retry.intervalmill 200
  for role in master regionserver; do
    property hbase.$role.hostname 127.0.0.1
    property hbase.$role.ipc.address 127.0.0.1
    property hbase.$role.port 0
    property hbase.$role.info.port -1
  done
  property hbase.thrift.info.port -1
  property hbase.regionserver.msginterval 500
  # Small heaps and many small regions: do not allocate 2 MB for every family of every region.
  property hbase.hregion.memstore.mslab.enabled false
  property hfile.block.cache.size 0.2
  property hbase.master.wait.on.regionservers.mintostart 1
  property hbase.master.wait.on.regionservers.interval 100
  property hbase.master.wait.on.regionservers.timeout 1000
  for codec in snappy:Snappy lz4:Lz4 zstd:Zstd lzo:Lzo; do
    property "hbase.io.compress.${codec%%:*}.codec" "$HB.io.compress.aircompressor.${codec##*:}Codec"
  done
  for setting in ${KW_HBASE_CONF:-}; do
    property "${setting%%=*}" "${setting#*=}"
  done
  echo '</configuration>'
}

logging() {
  cat <<'CONF'
log4j.rootLogger=WARN, out
log4j.logger.org.apache.hadoop.metrics2=ERROR
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{2} [%t] %m%n
CONF
}

write_site() { # ZooKeeper port
  mkdir -p "$RUN/conf" "$RUN/logs" "$RUN/data"
  site "$1" >"$RUN/conf/hbase-site.xml"
  logging >"$RUN/conf/log4j.properties"
}
